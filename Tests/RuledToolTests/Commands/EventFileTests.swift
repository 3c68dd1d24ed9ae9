import Glibc
import RuledCore
import RuledJSON
import RuledTool
import Synchronization
import TestSupport
import Testing

struct EventFileTests {
  /// Accepts events, refuses the subject `bad`, repeats `twice` and fails on `weak`.
  private static func answer(_ request: FakeDaemon.Request) -> String {
    let subject = request.params["subject"]?.stringValue ?? ""
    if subject == "bad" { return request.error(.invalidParams(path: "params.subject", "is bad")) }
    let failure: JSONValue = ["plugin": "p", "rule": "r", "kind": "error", "message": "no", "file": "f", "line": 1]
    return request.result([
      "subject": .string(subject), "duplicate": .bool(subject == "twice"), "differs": .bool(subject == "twice"),
      "version": 1,
      "decisions": ["p": ["k": .string(subject)]], "effects": [], "failures": subject == "weak" ? [failure] : [],
    ])
  }

  private static let file = """
    {"type":"t","subject":"a"}
    {"type":"t",

    {"type":"t","subject":"bad"}
    [1]
    {"type":"t","subject":"twice","data":{"big":12345678901234567890}}\r
    {"type":"t","subject":"weak"}
    """

  @Test func `Refused lines are reported with their numbers and the others are sent`() throws {
    let daemon = try FakeDaemon { [Self.answer($0)] }
    defer { daemon.stop() }
    let run = Run("event", "--file", "-", on: daemon, input: Self.file)
    #expect(run.exit == .no)
    #expect(run.output.isEmpty)
    let lines = run.errors.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[0].hasPrefix("standard input:2: parse_error: not JSON: "))
    #expect(lines[1] == "standard input:4: invalid_params: params.subject: is bad")
    #expect(lines[2] == "standard input:5: invalid_params: an event is a JSON object")
    #expect(lines[3] == "sent 3 events: 1 duplicate (1 with other data), 1 with failures; 3 refused")
    #expect(daemon.requests.map { $0.params["subject"] } == ["a", "bad", "twice", "weak"])
  }

  @Test func `A file without errors ends well and each event can be shown`() throws {
    let daemon = try FakeDaemon { [Self.answer($0)] }
    defer { daemon.stop() }
    let folder = TemporaryFolder()
    folder.write("events.ndjson", "{\"type\":\"t\",\"subject\":\"a\"}\n{\"type\":\"u\",\"subject\":\"b\"}\n")
    let run = Run("event", "--file", folder("events.ndjson"), "--show", on: daemon)
    #expect(run.exit == .done)
    #expect(run.output == "1  t  a  p.k=\"a\"\n2  u  b  p.k=\"b\"\n")
    #expect(run.errors == "sent 2 events: 0 duplicates, 0 with failures; 0 refused\n")
  }

  @Test func `Instructions are set in every event of the file`() throws {
    let daemon = try FakeDaemon { [Self.answer($0)] }
    defer { daemon.stop() }
    let run = Run("event", "--file=-", "-n", "--wait", on: daemon, input: "{\"type\":\"t\",\"subject\":\"a\"}\n")
    #expect(daemon.request?.params == ["type": "t", "subject": "a", "dryrun": true, "wait": "cascade"])
    #expect(run.errors.hasPrefix("evaluated 1 event:"))
  }

  @Test func `A manual clock follows the times of the events, never back`() throws {
    let daemon = try FakeDaemon { [$0.method == "clock" ? $0.result(["now": "x"]) : Self.answer($0)] }
    defer { daemon.stop() }
    let file = """
      {"type":"t","subject":"a","time":"2025-11-10T08:00:00Z"}
      {"type":"t","subject":"b"}
      {"type":"t","subject":"c","time":"2025-11-10T09:30:00+01:00"}
      {"type":"t","subject":"d","time":"2025-11-10T08:10:00Z"}
      """
    let run = Run("event", "--file", "-", "--follow-time", on: daemon, input: file)
    #expect(run.exit == .done)
    #expect(
      daemon.requests.map { $0.params["set"]?.stringValue ?? $0.params["subject"]?.stringValue }
        == ["2025-11-10T08:00:00.000Z", "a", "b", "2025-11-10T08:30:00.000Z", "c", "d"])
  }

  @Test func `Following the time needs a manual clock, and goes with a file that is not a dry run`() throws {
    let daemon = try FakeDaemon { request in
      request.method == "clock" ? [request.error(RequestError(.unknownMethod, "no"))] : [Self.answer(request)]
    }
    defer { daemon.stop() }
    let line = #"{"type":"t","subject":"a","time":"2025-11-10T08:00:00Z"}"#
    let run = Run("event", "--file", "-", "--follow-time", on: daemon, input: line)
    #expect(run.errors.contains("start it with --clock manual"))
    #expect(daemon.requests.map(\.method) == ["clock"])
    #expect(Run("event", "-f", "-", "-n", "--follow-time", on: daemon, input: line).exit == .failed)
    #expect(Run("event", "t", "a", "--follow-time", on: daemon).exit == .failed)
  }

  @Test func `JSON has a line for each event, refused ones too`() throws {
    let daemon = try FakeDaemon { [Self.answer($0)] }
    defer { daemon.stop() }
    let run = Run("event", "--file", "-", "--json", on: daemon, input: Self.file)
    let lines = try run.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(lines.map { $0["line"] } == [nil, 2, 4, 5, nil, nil])
    #expect(lines[2]["error"]?["data"]?["code"] == "invalid_params")
  }

  @Test func `Replies out of order are reported in the order of the lines`() throws {
    let answers = Mutex<[String]>([])
    let daemon = try FakeDaemon { request in
      answers.withLock { answers in
        answers.insert(Self.answer(request), at: 0)
        guard answers.count == 4 else { return [] }
        defer { answers = [] }
        return answers
      }
    }
    defer { daemon.stop() }
    let input = (1...8).map { "{\"type\":\"t\",\"subject\":\"s\($0)\"}\n" }.joined()
    let run = Run("event", "--file", "-", "--show", "--window", "4", on: daemon, input: input)
    #expect(run.exit == .done)
    #expect(run.output.split(separator: "\n").map { $0.prefix(1) } == (1...8).map { "\($0)" })
  }

  @Test func `Much data in both directions does not block`() throws {
    let daemon = try FakeDaemon { [Self.answer($0)] }
    defer { daemon.stop() }
    let long = String(repeating: "x", count: 20_000)
    let input = (1...400).map { "{\"type\":\"t\",\"subject\":\"s\($0)\(long)\"}\n" }.joined()
    let run = Run("event", "--file", "-", on: daemon, input: input)
    #expect(run.errors == "sent 400 events: 0 duplicates, 0 with failures; 0 refused\n")
    #expect(daemon.requests.count == 400)
  }

  @Test func `A line is sent while the next is still to be written`() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (readEnd, writeEnd) = (ends[0], ends[1])
    let daemon = try FakeDaemon { request in
      if request.params["subject"] == "first" {
        let line = "{\"type\":\"t\",\"subject\":\"second\"}\n"
        _ = line.withCString { write(writeEnd, $0, strlen($0)) }
      } else {
        close(writeEnd)
      }
      return [Self.answer(request)]
    }
    defer { daemon.stop() }
    let line = "{\"type\":\"t\",\"subject\":\"first\"}\n"
    _ = line.withCString { write(writeEnd, $0, strlen($0)) }
    let environment = ToolEnvironment(
      input: Input(descriptor: readEnd, closes: true), output: Output(), errors: Output(),
      variables: ["RULED_SOCKET": daemon.path])
    #expect(Tool().run(["event", "--file", "-"], environment) == .done)
    #expect(daemon.requests.map { $0.params["subject"] } == ["first", "second"])
  }

  @Test func `When the connection ends, the first unanswered line is reported`() throws {
    let daemon = try FakeDaemon { $0.params["subject"] == "end" ? nil : [Self.answer($0)] }
    defer { daemon.stop() }
    let input = ["a", "b", "end", "c"].map { "{\"type\":\"t\",\"subject\":\"\($0)\"}\n" }.joined()
    let run = Run("event", "--file", "-", on: daemon, input: input)
    #expect(run.exit == .failed)
    #expect(run.errors.hasPrefix("line 3 and those after it are not answered; before them: sent 2 events"))
    #expect(run.errors.contains("it is not known which of those without an answer were applied; send them again: "))
    #expect(run.errors.contains("closed the connection"))
  }

  @Test func `Progress is for terminals alone`() throws {
    let daemon = try FakeDaemon { [Self.answer($0)] }
    defer { daemon.stop() }
    let input = "{\"type\":\"t\",\"subject\":\"a\"}\n"
    let run = Run("event", "--file", "-", on: daemon, input: input, terminal: true)
    #expect(run.errors.contains("████ 100%  1 event"))
    let plain = Run("event", "--file", "-", on: daemon, input: input, terminal: true, variables: ["NO_COLOR": "1"])
    #expect(!plain.errors.contains("█"))
    #expect(!plain.errors.contains("\u{1B}"))
  }
}
