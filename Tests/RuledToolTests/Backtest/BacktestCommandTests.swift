import Glibc
import RuledCore
import RuledJSON
import RuledTool
import TestSupport
import Testing

@Suite struct BacktestCommandTests {
  private let before = RulesFolderOnDisk(["greeter/plugin.lua": Self.plugin])
  private let after = RulesFolderOnDisk(["greeter/plugin.lua": Self.plugin])
  private let events = TemporaryFolder()

  private static let plugin = """
    plugin { name = "greeter", sinks = { "mail" }, settings = { words = "hello", earned = 10 } }
    rule "greet" {
      on = "app.launched",
      run = function(event, state)
        state.count = (state.count or 0) + 1
        decide("greeting", settings.words)
        decide("points", { earned = settings.earned, total = state.count * settings.earned })
        if state.count == 1 then
          emit("mail", "welcome", {})
          timer.set("later", now() + 60, "came.due", {})
          send("user:all", "heard", {})
        end
      end,
    }
    rule "due" { on = "came.due", run = function(event, state) state.due = now() end }
    rule "heard" { on = "heard", run = function(event, state) state.heard = (state.heard or 0) + 1 end }

    """

  private static let lines = (0..<20).map { number in
    """
    {"type":"app.launched","subject":"user:\(number % 5)","id":"e\(number)","time":"2026-03-01T09:\(10 + number):00Z"}

    """
  }

  private func change(_ old: String, _ new: String) {
    after.write("greeter/plugin.lua", Self.plugin.replacing(old, with: new))
  }

  private func run(_ options: String..., lines: [String] = Self.lines) -> Run {
    events.write("e.ndjson", lines.joined())
    return Run(
      words: ["backtest", after.path, "--baseline", before.path, "--events", events("e.ndjson")] + options)
  }

  private func report(_ run: Run) -> JSONValue { JSONValue(text: run.output) ?? .null }

  @Test func `a candidate that changes boards or counters alone is not without difference`() {
    let first = "    state.count = (state.count or 0) + 1\n"
    before.write("greeter/plugin.lua", Self.plugin.replacing(first, with: first + "board.add('best', 1)\n"))
    change(first, first + "board.add('best', 2)\n")
    let run = run("--html", events("page.html"))
    #expect(!run.output.contains("no difference"), "\(run.output)")
    #expect(run.output.contains("every outcome and every state is equal"), "\(run.output)")
    #expect(run.output.contains("board greeter/best: 5 other scores"), "\(run.output)")
    #expect(TemporaryFolder.read(events("page.html")).contains("greeter/best"))
    change(first, first + "board.add('best', 1) count('greeter.n')\n")
    #expect(!self.run().output.contains("no difference"))
  }

  @Test func `topics are compared by their members and publications`() {
    let first = "    state.count = (state.count or 0) + 1\n"
    before.write("greeter/plugin.lua", Self.plugin.replacing(first, with: first + "topic.join('news')\n"))
    change(
      first,
      first + "if event.subject ~= 'user:1' then topic.join('news') end publish(event.subject, 'greeter.told')\n")
    let run = run("--html", events("page.html"))
    #expect(run.output.contains("every outcome and every state is equal"), "\(run.output)")
    #expect(run.output.contains("topic greeter/news: 1 other member, such as user:1 (gone)\n"), "\(run.output)")
    #expect(run.output.contains("topic greeter/user:0: publications 0 → 4\n"), "\(run.output)")
    let page = TemporaryFolder.read(events("page.html"))
    #expect(page.contains("<td>user:1 (gone)</td>"))
    let topics = report(self.run("--json"))["topics"]?.arrayValue ?? []
    #expect(topics.count == 6)
    #expect(
      topics.first == [
        "plugin": "greeter", "name": "news", "equal": 4, "changed": 1, "publications": ["before": 0, "after": 0],
        "examples": [["kind": "gone", "subject": "user:1"]],
      ])
    change(first, first + "topic.join('news')\n")
    #expect(self.run().output.contains("no difference"))
  }

  @Test func `names that others chose neither steer their reader nor pass for words of the report`() {
    let first = "    state.count = (state.count or 0) + 1\n"
    after.write(
      "greeter/plugin.lua",
      Self.plugin.replacing("hello", with: "hi").replacing(first, with: first + "topic.join(event.data.topic)\n"))
    let line =
      #"{"type":"app.launched","subject":"user:\u202e1","id":"q\u200bz","data":{"topic":"t: 3 other members, such as \u2066 (new)"}}"#
    let run = run("--html", events("page.html"), lines: [line + "\n"])
    let topic = #""greeter/t: 3 other members, such as \u{2066} (new)""#
    #expect(run.output.contains(#"topic \#(topic): 1 other member, such as "user:\u{202e}1" (new)"#), "\(run.output)")
    #expect(run.output.contains(#"rulectl explain $'user:\342\200\2561' $'q\342\200\213z' --rules "#), "\(run.output)")
    let page = TemporaryFolder.read(events("page.html"))
    #expect(page.contains(#"user:\u{202e}1"#) && page.contains(#"$'q\342\200\213z'"#))
    #expect(page.withoutSteering == page)
  }

  @Test func `counters are compared by name and labels`() {
    let first = "    state.count = (state.count or 0) + 1\n"
    before.write("greeter/plugin.lua", Self.plugin.replacing(first, with: first + "count('greeter.n', { p = 'a' })\n"))
    change(first, first + "count('greeter.n', { p = 'a' }, 2) count('greeter.m', nil, 0.5)\n")
    #expect(
      report(run("--json"))["counters"] == [
        ["plugin": "greeter", "name": "greeter.m", "labels": [:], "before": 0, "after": 10.0],
        ["plugin": "greeter", "name": "greeter.n", "labels": ["p": "a"], "before": 20, "after": 40],
      ])
    #expect(run().output.contains("  greeter.n  p=a     greeter"))
  }

  @Test func `equal rules give no difference`() {
    let run = run("--json", "--fail-on", "changed > 0", "--fail-on", "effects > 0", "--fail-on", "instructions > 0")
    #expect(run.exit == .done)
    let report = report(run)
    // 20 launches, a message from each of the five, and the timers that are due by the end.
    #expect(report["events"] == 30)
    #expect(report["outcomes"] == ["equal": 30, "changed": 0])
    #expect(report["messages"] == ["before": 5, "after": 5])
    #expect(report["timers"] == ["before": 5, "after": 5])
    #expect(report["states"] == ["equal": 6, "changed": 0])
    #expect(report["subjects"] == 6)
    #expect(report["baseline"] == report["candidate"])
    #expect(
      report["range"] == [
        "since": "2026-03-01T09:10:00.000Z", "until": "2026-03-01T09:29:00.000Z", "first": 1, "last": 20,
      ])
    #expect(report["exceeded"] == [])
    #expect(self.run().output.contains("no difference"))
  }

  @Test func `a change is told by decision, with its numbers`() {
    change("earned = 10", "earned = 20")
    let decisions = report(run("--json"))["decisions"]?.arrayValue ?? []
    #expect(decisions[0]["key"] == "points")
    #expect(decisions[0]["changed"] == 20)
    #expect(decisions[0]["numbers"]?[0]?["path"] == "earned")
    #expect(decisions[0]["numbers"]?[0]?["before"]?["sum"] == 200)
    #expect(decisions[0]["numbers"]?[0]?["after"]?["mean"] == 20)
    #expect(decisions[1]["key"] == "greeting")
    #expect(decisions[1]["equal"] == 20)
    let text = run().output
    #expect(text.contains("20 of 30 events (66.67 %) come out differently, for 5 of 6 subjects"))
    #expect(text.contains("earned: 10 → 20  20"))
    #expect(text.contains("sum 200 → 400 (+100.00 %)"))
  }

  @Test func `a message and a timer that only one side has count as changed`() {
    change("send(\"user:all\", \"heard\", {})", "")
    let report = report(run("--json"))
    #expect(report["outcomes"] == ["equal": 25, "changed": 5])
    #expect(report["messages"] == ["before": 5, "after": 0])
    let text = run("--html", events("page.html")).output
    #expect(text.contains("  user:all       5  in the baseline alone\n"), "\(text)")
    #expect(TemporaryFolder.read(events("page.html")).contains("<code>in the baseline alone</code>"))
  }

  @Test func `a gate names the exceeded limit`() {
    change("\"hello\"", "\"hi\"")
    let run = run("--fail-on", "changed > 1%", "--fail-on", "changed > 90%", "--fail-on", "failures > 0")
    #expect(run.exit == .no)
    #expect(run.errors == "exceeded: changed > 1%\n")
    #expect(run.output.contains("\"hello\" → \"hi\"  20"))
  }

  @Test func `a bad condition is refused before anything is played`() {
    let run = run("--fail-on", "speed > 1")
    #expect(run.exit == .failed)
    #expect(run.errors.contains("changed, failures, effects or instructions"))
    #expect(run.output.isEmpty)
  }

  @Test(arguments: [
    ("nonsense\n", "it is not JSON"), ("[]\n", "an event is a JSON object"),
    ("{\"type\":\"t\"}\n", "'subject' must be"),
    ("{\"type\":\"t\",\"subject\":\"s\",\"time\":\"noon\"}\n", "RFC 3339"),
  ])
  func `a line that is no event is told with its number`(line: String, what: String) {
    let run = run(lines: [Self.lines[0], "\n", line])
    #expect(run.exit == .failed)
    #expect(run.errors.contains("e.ndjson:3: "))
    #expect(run.errors.contains(what))
  }

  @Test func `a repeated event counts once, and one without an id gets one`() {
    let line = #"{"type":"app.launched","subject":"user:1"}"# + "\n"
    let report = report(run("--json", lines: [Self.lines[0], Self.lines[0], line, line]))
    #expect(report["events"] == 5, "three launches and two messages")
  }

  @Test func `a pipe is played as a file is, once`() throws {
    let lines = (0..<4_000).map {
      #"{"type":"app.launched","subject":"user:\#($0 % 50)","id":"e\#($0)","time":"2026-03-01T09:00:00Z"}"# + "\n"
    }
    let expected = run("--json", lines: lines).output
    try #require(mkfifo(events("pipe"), 0o600) == 0)
    let writer = Program.spawn(
      "/bin/sh", ["-c", "exec cat '\(events("e.ndjson"))' >'\(events("pipe"))'"], output: "/dev/null")
    let run = Run("backtest", after.path, "--baseline", before.path, "--events", events("pipe"), "--json")
    #expect(Program.wait(writer) == 0)
    #expect(run.output == expected, "\(run.errors)")
  }

  @Test func `a sample has the same subjects each time, and a prefix only its own`() {
    let lines = (0..<400).map { "{\"type\":\"app.launched\",\"subject\":\"user:\($0)\",\"id\":\"e\($0)\"}\n" }
    let sample = report(run("--json", "--sample", "25%", lines: lines))
    let subjects = Int(sample["subjects"]?.intValue ?? 0)
    #expect((60...140).contains(subjects))
    #expect(report(run("--json", "--sample", "25%", lines: lines)) == sample)
    #expect(report(run("--json", "--subjects", "user:39", lines: lines))["subjects"] == 12)
    #expect(run("--sample", "0%").exit == .failed)
  }

  @Test func `only the named plugins are taken from the folder`() {
    change("\"hello\"", "\"hi\"")
    for folder in [before, after] { folder.write("other/plugin.lua", "plugin { name = \"other\" }") }
    after.write("other/plugin.lua", "plugin { name = \"other\", version = \"2.0.0\" }")
    #expect(report(run("--json", "--plugins", "other"))["outcomes"]?["changed"] == 0)
    #expect(report(run("--json", "--plugins", "greeter"))["outcomes"]?["changed"] == 20)
    let unknown = run("--plugins", "greter")
    #expect(unknown.exit == .failed)
    #expect(unknown.errors.contains("greeter"))
  }

  @Test func `the page has no outside parts, escapes texts of events, and explains changed events on both sides`()
    throws
  {
    change("settings.words", "event.data.name or settings.words")
    let name = #"{"type":"app.launched","subject":"user:<1>","id":"e&1","data":{"name":"<script>"}}"# + "\n"
    events.write("report.html", "an earlier report")
    _ = run("--html", events("report.html"), lines: [name])
    var status = stat()
    #expect(stat(events("report.html"), &status) == 0 && status.st_mode & 0o777 == 0o600, "it has subjects")
    let page = try String(decoding: Input(path: events("report.html")).readAll(), as: UTF8.self)
    #expect(page.contains("<code>user:&lt;1&gt;</code>"))
    #expect(page.contains("<mark>greeter.greeting = &quot;&lt;script&gt;&quot;</mark>"))
    #expect(page.contains("<mark>greeter.greeting = &quot;hello&quot;</mark>"))
    for outside in ["http:", "https:", "<script", "<link", "@import", "url("] { #expect(!page.contains(outside)) }
  }

  @Test func `options of the journal are refused with a file`() {
    for option in [["--since", "7d"], ["--until", "1d"], ["--store", "/tmp"]] {
      events.write("e.ndjson", Self.lines[0])
      let run = Run(words: ["backtest", after.path, "--events", events("e.ndjson")] + option)
      #expect(run.exit == .failed)
      #expect(run.errors.contains(option[0]))
    }
  }

  @Test func `a folder that is no store is refused, and nothing is made there`() {
    let missing = events("missing/store")
    for path in [missing, events("empty")] {
      if path != missing { mkdir(path, 0o700) }
      let run = Run(words: ["backtest", after.path, "--store", path])
      #expect(run.exit == .failed)
      #expect(run.errors.contains("there is no journal in '\(path)': --store takes"), "\(run.errors)")
    }
    #expect(access(events("missing"), F_OK) != 0)
    #expect(TemporaryFolder.names(events("empty")).isEmpty)
  }

  @Test(arguments: [["--subjects", "nosuch:"], ["--json", "--subjects", "nosuch:", "--fail-on", "changed > 0"]])
  func `a backtest without events is refused, as it would pass every gate`(options: [String]) {
    events.write("e.ndjson", Self.lines.joined())
    let run = Run(
      words: ["backtest", after.path, "--baseline", before.path, "--events", events("e.ndjson")] + options)
    #expect(run.exit == .failed && run.output.isEmpty)
    #expect(run.errors.contains("there is no event of the chosen subjects in this range"), "\(run.errors)")
    #expect(self.run(lines: []).exit == .failed)
  }

  @Test func `an event that can't be sent is told with its line`() {
    after.write("greeter/plugin.lua", Self.plugin + "event('app.launched', { name = 'string?' })")
    let wrong = #"{"type":"app.launched","subject":"user:9","data":{"name":5}}"# + "\n"
    let run = run(lines: [Self.lines[0], "\n", wrong])
    #expect(run.exit == .failed && run.errors.contains("line 3: "), "\(run.errors)")
  }

  @Test func `rules that do not load are told with file and line`() {
    change("settings.words", "settings.words oops")
    let run = run()
    #expect(run.exit == .failed)
    #expect(run.errors.contains("greeter/plugin.lua:6"))
  }
}
