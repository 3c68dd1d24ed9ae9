import RuledCore
import RuledTool
import Testing

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
        "shadowed": [["key": "k", "rule": "first"]],
      ],
      ["plugin": "b", "rule": "bad", "fired": true, "micros": 5, "writes": [], "decisions": [], "effects": []],
      ["plugin": "a", "rule": "heard", "fired": true, "micros": 1, "writes": [], "event": "raised"],
    ],
  ]

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
           │  └─ too late: k (behind first)
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

  @Test func `A file that holds no event is refused before anything is sent`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    for input in ["", "[1]", "{"] { #expect(Run("explain", "-", on: daemon, input: input).exit == .failed) }
    #expect(Run("explain", "/nonexistent.json", on: daemon).errors.contains("cannot read '/nonexistent.json'"))
    #expect(daemon.requests.isEmpty)
  }

  @Test(
    arguments: [
      (["k": "first"], "k (behind first)"), (["k"], "k"), ([["key": "k", "behind": "p.first"]], "k (behind p.first)"),
    ] as [(JSONValue, String)])
  func `Shadowed decisions are read in any shape`(shadowed: JSONValue, text: String) {
    let outcome: JSONValue = [
      "trace": [["plugin": "p", "rule": "r", "fired": true, "shadowed": shadowed]]
    ]
    #expect(TraceTree(outcome, style: .plain).text(type: "t").contains("too late: \(text)\n"))
  }
}
