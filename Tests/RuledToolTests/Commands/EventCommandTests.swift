import RuledCore
import RuledJSON
import RuledTool
import Testing

/// `rulectl event` with a single event.
struct EventCommandTests {
  private static let outcome: JSONValue = [
    "subject": "device:1", "id": "e1", "duplicate": false, "version": 3, "revision": "b1946ac9",
    "decisions": ["attribution": ["screen": "tracking-onboarding", "n": 2], "greeter": ["greeting": "hi"]],
    "effects": [["id": "6b1f", "plugin": "attribution", "sink": "client", "type": "AppInstall", "data": ["a": 1]]],
    "failures": [],
  ]

  @Test func `An event is sent as its arguments say`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run(
      "event", "app.launched", "device:1", "platform=ios", "n=2", "--id=e1", "--source", "s", "--time",
      "2025-11-10T12:34:56Z", on: daemon)
    #expect(run.exit == .done)
    #expect(
      daemon.request?.json == [
        "jsonrpc": "2.0", "id": 1, "method": "event",
        "params": [
          "type": "app.launched", "subject": "device:1", "id": "e1", "source": "s", "time": "2025-11-10T12:34:56Z",
          "data": ["platform": "ios", "n": 2],
        ],
      ])
    #expect(
      run.output == """
        device:1  version 3  event e1

        decisions
          attribution
            screen    "tracking-onboarding"
            n         2
          greeter
            greeting  "hi"

        effects
          SINK    TYPE        PLUGIN       ID    DATA
          client  AppInstall  attribution  6b1f  {"a":1}

        """)
  }

  @Test func `An event needs no more than type and subject`() throws {
    let daemon = try FakeDaemon(result: ["subject": "s", "id": "1", "version": 1, "decisions": [:], "effects": []])
    defer { daemon.stop() }
    let run = Run("event", "t", "s", on: daemon)
    #expect(daemon.request?.params == ["type": "t", "subject": "s"])
    #expect(run.output == "s  version 1  event 1\nno decisions, no effects\n")
  }

  @Test func `Instructions go along with the event`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run("event", "t", "s", "--data", "{\"a\":1}", "b=2", "--dry-run", "--explain", "--wait", on: daemon)
    #expect(
      daemon.request?.params == [
        "type": "t", "subject": "s", "data": ["a": 1, "b": 2], "dryrun": true, "explain": true, "wait": "cascade",
      ])
    #expect(run.output.contains("dry run, nothing is stored"))
    #expect(run.output.contains("t: no rule listens to this event"))
  }

  @Test func `Failures are shown with file and line, and the exit code is still 0`() throws {
    let daemon = try FakeDaemon(result: [
      "subject": "s", "id": "1", "version": 1, "duplicate": true, "differs": true, "decisions": [:], "effects": [],
      "failures": [
        ["plugin": "p", "rule": "r", "kind": "error", "message": "no\u{1B}[31m", "file": "p/plugin.lua", "line": 7]
      ],
    ])
    defer { daemon.stop() }
    let run = Run("event", "t", "s", on: daemon)
    #expect(run.exit == .done)
    #expect(run.output.contains("duplicate") && run.output.contains("other data"))
    #expect(run.output.contains("  p, rule 'r': p/plugin.lua:7: no\\u{1b}[31m (error)\n"))
    #expect(run.output.contains("parked for this plugin; see 'rulectl parked'"))
  }

  @Test func `JSON is the daemon's answer on one line`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    #expect(Run("event", "t", "s", "--json", on: daemon).output == Self.outcome.text + "\n")
    #expect(Run("event", "t", "s", "--json", on: daemon, terminal: true).output == Self.outcome.prettyText() + "\n")
  }

  @Test func `Mistakes in the arguments are reported before anything is sent`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let wrong = [
      Run("event", on: daemon), Run("event", "t", on: daemon), Run("event", "t", "s", "x", on: daemon),
      Run("event", "t", "s", "--data", "{", on: daemon), Run("event", "t", "s", "--data", "1", "a=2", on: daemon),
      Run("event", "t", "s", "--show", on: daemon), Run("event", "t", "s", "--file", "-", on: daemon),
      Run("event", "--file", "-", "--id", "1", on: daemon), Run("event", "--file", "/nonexistent", on: daemon),
    ]
    for run in wrong {
      #expect(run.exit == .failed)
      #expect(run.errors.hasPrefix("rulectl: "))
      #expect(run.errors.filter { $0 == "\n" }.count == 1)
    }
    #expect(daemon.requests.isEmpty)
  }

  @Test func `A refused event ends with code two and the reason`() throws {
    let daemon = try FakeDaemon(error: .invalidParams(path: "params.type", "is empty"))
    defer { daemon.stop() }
    let run = Run("event", "", "s", on: daemon)
    #expect(run.exit == .failed)
    #expect(run.errors == "rulectl: params.type: is empty\n")
  }

  @Test func `An event that can't be followed is done all the same, and its outcome is shown`() throws {
    let daemon = try FakeDaemon { request in
      request.method == "event"
        ? [request.result(Self.outcome)] : [request.error(RequestError(.unavailable, "there is no journal"))]
    }
    defer { daemon.stop() }
    let run = Run("event", "t", "device:1", "--follow", on: daemon)
    #expect(run.exit == .done)
    #expect(run.output.hasPrefix("device:1  version 3  event e1\n"))
    #expect(run.errors == "can't follow: there is no journal; the event is applied, this is its outcome\n")
    #expect(daemon.requests.map(\.method) == ["event", "explain_past"])
    #expect(Run("event", "t", "device:1", "--follow", "--json", on: daemon).output == Self.outcome.text + "\n")
  }
}

/// `rulectl explain` and the tree it draws.
struct ExplainCommandTests {
  private static let outcome: JSONValue = [
    "subject": "s", "id": "e", "duplicate": false, "version": 0, "decisions": ["b": ["k": 1]], "effects": [],
    "failures": [["plugin": "b", "rule": "bad", "kind": "error", "message": "no", "file": "b.lua", "line": 9]],
    "trace": [
      ["plugin": "a", "rule": "skip", "fired": false, "reason": "when is false", "micros": 3],
      [
        "plugin": "a", "rule": "go", "fired": true, "micros": 41, "reads": ["n"], "writes": ["n", "m.x"],
        "decisions": ["k"], "effects": ["6b1f"],
      ],
      [
        "plugin": "b", "rule": "late", "fired": true, "micros": 1500, "writes": [], "decisions": [], "effects": [],
        "shadowed": [["key": "k", "by": "first"], ["key": "m", "by": "second"]],
      ],
      ["plugin": "b", "rule": "bad", "fired": true, "micros": 5, "writes": [], "decisions": [], "effects": []],
      ["plugin": "a", "rule": "heard", "fired": true, "micros": 1, "writes": [], "event": "raised"],
    ],
  ]

  @Test func `A past event that its replay lacks is not said to be heard by no rule`() throws {
    let daemon = try FakeDaemon { request in
      [request.result(["event": ["type": "t"], "subject": "s", "outcome": .null, "differs": "it lacks a message"])]
    }
    defer { daemon.stop() }
    let run = Run("explain", "s", "e", on: daemon)
    #expect(run.output.contains("t: the replay does not have this event"), "\(run.output) \(run.errors)")
    #expect(run.output.contains("this is not what was recorded: it lacks a message"))
  }

  @Test func `The trace is a tree of events, plugins and rules`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run("explain", "-", on: daemon, input: #"{"type":"app.launched","subject":"s"}"#)
    #expect(run.exit == .done)
    #expect(
      run.output.hasPrefix(
        """
        app.launched
        ├─ a
        │  ├─ ○ skip: when is false
        │  └─ ● go  41 µs
        │     ├─ reads n
        │     ├─ writes n, m.x
        │     ├─ decides k
        │     └─ emits 6b1f
        └─ b
           ├─ ● late  1.5 ms
           │  └─ too late: k (decided by first), m (decided by second)
           └─ ✗ bad  5 µs
              └─ b.lua:9: no (error)
        raised
        └─ a
           └─ ● heard  1 µs

        """))
    #expect(
      daemon.request?.params == ["type": "app.launched", "subject": "s", "dryrun": true, "explain": true])
    #expect(run.output.contains("dry run"))
    #expect(!run.output.contains("parked"))
  }

  @Test func `Each read has its value, and a rule's operations are listed`() throws {
    let daemon = try FakeDaemon(result: [
      "subject": "s", "id": "e", "version": 0, "decisions": [:], "effects": [], "failures": [],
      "trace": [
        [
          "event": "x", "plugin": "off", "rule": nil, "fired": false, "reason": "the configuration disables the plugin",
        ],
        [
          "event": "x", "plugin": "b", "rule": "r", "fired": false, "reason": "'when' was false", "reads": ["state.n"],
          "values": ["state.n": 1],
        ],
        [
          "event": "x", "plugin": "b", "rule": "s", "fired": true, "reason": "its event came", "micros": 1,
          "raised": ["z"], "sends": ["hello to user:2"], "counts": ["p.c {}"],
        ],
      ],
    ])
    defer { daemon.stop() }
    let event = #"{"type":"x","subject":"s"}"#
    #expect(
      Run("explain", "-", on: daemon, input: event).output.hasPrefix(
        """
        x
        ├─ off
        │  └─ ○ all rules: the configuration disables the plugin
        └─ b
           ├─ ○ r: 'when' was false
           │  └─ reads state.n = 1
           └─ ● s  1 µs: its event came
              ├─ raises z
              ├─ sends hello to user:2
              └─ counts p.c {}

        """))
  }

  @Test func `Events that a rule raised stand below it, and a false condition has its values`() throws {
    let cause: JSONValue = ["plugin": "a", "rule": "r"]
    let daemon = try FakeDaemon(result: [
      "subject": "s", "id": "e", "version": 0, "decisions": [:], "effects": [], "failures": [],
      "trace": [
        ["event": "x", "plugin": "a", "rule": "r", "fired": true, "micros": 2, "raised": ["y"], "once": ["k"]],
        ["event": "y", "cause": cause, "plugin": "a", "rule": "own", "fired": true, "micros": 1],
        [
          "event": "x", "plugin": "b", "rule": "w", "fired": false, "reason": "'when' was false",
          "reads": ["state.n"],
          "condition": ["text": "s.n > 2", "file": "b/plugin.lua", "line": 7, "values": ["s.n": 1]],
        ],
      ],
    ])
    defer { daemon.stop() }
    let run = Run("explain", "-", "--no-values", "--internal", on: daemon, input: #"{"type":"x","subject":"s"}"#)
    #expect(daemon.request?.params["explain"] == "without_values" && daemon.request?.params["internal"] == true)
    #expect(
      run.output.hasPrefix(
        """
        x
        ├─ a
        │  └─ ● r  2 µs
        │     ├─ raises y
        │     │  └─ a
        │     │     └─ ● own  1 µs
        │     └─ once k
        └─ b
           └─ ○ w: 'when' was false: s.n > 2  b/plugin.lua:7
              ├─ with s.n = 1
              └─ reads state.n

        """))
  }

  @Test func `Many elements of a list that was read or written are one item with their number`() throws {
    let elements = (1...36).flatMap { ["state.list[\($0)]", "state.list[\($0)].day"] }
    let paths = ["state.n", "state.list"] + elements + ["state.list[37]", "state.few", "state.few[1]"]
    // A table has no value, and what is not there is null.
    let known = paths.filter { $0.hasSuffix(".day") || ["state.n", "state.few[1]"].contains($0) }
    let values = known.map { (name: $0, value: JSONValue.integer(1)) } + [(name: "state.list[37]", value: .null)]
    let daemon = try FakeDaemon(result: [
      "subject": "s", "id": "e", "version": 0, "decisions": [:], "effects": [], "failures": [],
      "trace": [
        [
          "event": "x", "plugin": "a", "rule": "r", "fired": true, "micros": 2,
          "reads": .array(paths.map(JSONValue.string)), "values": .object(JSONObject(values)),
          "writes": .array(paths.map(JSONValue.string)),
        ]
      ],
    ])
    defer { daemon.stop() }
    let run = Run("explain", "-", on: daemon, input: #"{"type":"x","subject":"s"}"#)
    let line = "reads state.n = 1, state.list: 36 elements, state.few, state.few[1] = 1\n"
    #expect(run.output.contains(line), "\(run.output)")
    #expect(run.output.contains("writes state.n, state.list: 37 elements, state.few, state.few[1]\n"), "\(run.output)")
  }

  @Test(
    arguments: [
      ([:], [:], [], "both say the same of it, in the state of then\n"),
      (["sends": ["a to s2"]], ["sends": ["a to s3"]], [], "they differ\n  - p sends a to s2\n  + p sends a to s3\n"),
      (["counts": ["n {}", "n {}"]], ["counts": ["n {}"]], [], "they differ\n  - p counts n {}\n"),
      (["publishes": ["a to t"]], ["publishes": ["a to u"]], [], "- p publishes a to t\n  + p publishes a to u\n"),
      (
        [:], [:], [["path": "plugins.p.n", "before": 1, "after": 2], ["path": "boards[1].score", "after": "…"]],
        "they differ\n  - plugins.p.n = 1\n  + plugins.p.n = 2\n  + boards[1].score = \"…\"\n"
      ),
      (
        ["sends": ["a to s2"]], ["sends": ["a to s2"], "places": ["b: +1"]], [],
        "no difference is seen, in the state of then; not compared: the options of boards, what messages say\n"
      ),
    ] as [(JSONObject, JSONObject, JSONValue, String)])
  func `beside other rules, a past event says the same only if all that is known of it does`(
    before: JSONObject, after: JSONObject, changes: JSONValue, text: String
  ) throws {
    func outcome(_ operations: JSONObject) -> JSONValue {
      var entry: JSONObject = ["event": "x", "plugin": "p", "rule": "r", "fired": true, "micros": 2]
      for (name, value) in operations { entry[name] = value }
      return ["decisions": [:], "effects": [], "failures": [], "trace": [.object(entry)]]
    }
    let daemon = try FakeDaemon(result: [
      "event": ["type": "x"], "subject": "s", "outcome": outcome(before),
      "other": ["revision": "r2", "outcome": outcome(after), "changes": changes],
    ])
    defer { daemon.stop() }
    let folder = RulesFolderOnDisk(["p/plugin.lua": "plugin { name = 'p' }"])
    let run = Run("explain", "s", "e", "--rules", folder.path, on: daemon)
    #expect(run.exit == .done && run.output.hasSuffix(text), "\(run.output)\(run.errors)")
  }

  @Test(arguments: [("app.lauched", "; did you mean 'app.launched'?"), ("app.zzz", ""), ("sesion.begun", "")])
  func `a type that no rule listens to is named, with the nearest that one does`(type: String, hint: String) throws {
    let skipped: [JSONValue] = [["app.launched", "app.closed"], ["session.*"]].map { patterns in
      [
        "event": .string(type), "plugin": "a", "rule": "o", "fired": false, "reason": "listens to others, not to it",
        "on": .array(patterns.map(JSONValue.string)),
      ]
    }
    let daemon = try FakeDaemon(result: [
      "subject": "s", "id": "e", "version": 1, "decisions": [:], "effects": [], "failures": [],
      "trace": .array(skipped),
    ])
    defer { daemon.stop() }
    let run = Run("event", type, "s", "--explain", on: daemon)
    #expect(
      run.output.hasSuffix(
        """
        \(type)
        └─ no rule listens to '\(type)'\(hint)

        """), "\(run.output)")
  }

  @Test func `a dry run that is followed shows what would be sent and set`() throws {
    let daemon = try FakeDaemon(result: [
      "subject": "s", "id": "e", "version": 1, "decisions": [:], "effects": [], "failures": [],
      "trace": [
        [
          "event": "x", "plugin": "a", "rule": "r", "fired": true, "micros": 2, "sends": ["hello to s2"],
          "timers": ["t: bye at 2025-11-10T08:00:00.000Z"],
          "follows": [
            ["kind": "message", "id": "1", "type": "hello", "subject": "s2"],
            ["kind": "timer", "id": "2", "type": "bye", "subject": "s", "due": "2025-11-10T08:00:00.000Z"],
          ],
        ]
      ],
    ])
    defer { daemon.stop() }
    let run = Run("event", "x", "s", "--follow", "--dry-run", on: daemon)
    #expect(daemon.request?.params == ["type": "x", "subject": "s", "dryrun": true, "explain": true])
    #expect(run.exit == .done)
    #expect(
      run.output == """
        event x  s  dry run, nothing is stored
        └─ a
           └─ ● r  2 µs
              ├─ message hello  s2  would be sent
              └─ timer bye  s  would be due at 2025-11-10T08:00:00.000Z

        """)
    let json = JSONValue(text: Run("event", "x", "s", "--follow", "--dry-run", "--json", on: daemon).output)
    #expect(json?["outcome"]?["id"] == "e" && json?["event"]?["type"] == "x")
    #expect(json?["followed"]?.arrayValue?.map { $0["id"] } == ["1", "2"])
  }

  @Test func `--follow and --no-values are refused where they make no sense`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    #expect(Run("event", "x", "s", "--follow", "--explain", on: daemon).errors.contains("leave --explain out"))
    #expect(Run("event", "--file", "-", "--follow", on: daemon).errors.contains("--follow goes with one event"))
    #expect(Run("event", "x", "s", "--no-values", on: daemon).errors.contains("--no-values goes with --explain"))
    #expect(daemon.requests.isEmpty)
  }

  @Test func `A file without an event is refused before anything is sent`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    for input in ["", "[1]", "{"] { #expect(Run("explain", "-", on: daemon, input: input).exit == .failed) }
    #expect(Run("explain", "/nonexistent.json", on: daemon).errors.contains("cannot read '/nonexistent.json'"))
    let typed = Run("explain", "invite.accepted", "user:2", "by=user:1", on: daemon)
    #expect(typed.exit == .failed)
    #expect(typed.errors.hasPrefix("rulectl: unexpected argument 'by=user:1'; write 'rulectl explain SUBJECT "))
    #expect(typed.errors.hasSuffix("'rulectl event TYPE SUBJECT [key=value …] --explain --dry-run'\n"))
    #expect(daemon.requests.isEmpty)
  }
}
