import RuledCore
import RuledJSON
import TestSupport
import Testing

@testable import RuledTool

@Suite struct ParkedCommandsTests {
  private static func parked(_ id: String, _ plugin: String, _ kind: String, _ message: String) -> JSONValue {
    [
      "id": .string(id), "plugin": .string(plugin), "subject": "s", "events": [["type": "a"]], "tries": 1,
      "at": .string("2025-11-10T12:00:0\(id)Z"),
      "failure": [
        "plugin": .string(plugin), "rule": "r", "kind": .string(kind), "message": .string(message), "file": "p.lua",
        "line": 2,
      ],
    ]
  }

  private static let events = [
    parked("1", "p", "error", "order 17 is stuck"), parked("2", "p", "time", "50 ms"),
    parked("3", "p", "error", "order 4 is stuck"), parked("4", "q", "error", "no Amount"),
  ]

  /// A daemon that has these events parked, two a page.
  private static func daemon() throws -> FakeDaemon {
    try FakeDaemon { request in
      guard request.method == "parked" else { return [request.result(["dropped": 1])] }
      let wanted = request.params["plugin"]
      let own = events.filter { wanted == nil || $0["plugin"] == wanted }
      let start = request.params["after"]?.stringValue.flatMap { Int($0) } ?? 0
      var page: JSONObject = ["parked": .array(Array(own.dropFirst(start).prefix(2)))]
      if start + 2 < own.count { page["next"] = .string("\(start + 2)") }
      return [request.result(.object(page))]
    }
  }

  private static func ids(_ words: String...) throws -> [String] {
    let daemon = try daemon()
    defer { daemon.stop() }
    let answer = try JSONValue(parsing: Run(words: ["parked", "--json"] + words, on: daemon).output)
    return answer.elements("parked").compactMap { $0["id"]?.stringValue }
  }

  @Test func `they are listed by the kind and the message of their failure`() throws {
    #expect(try Self.ids("--kind", "error") == ["1", "3", "4"])
    #expect(try Self.ids("--kind=error", "--plugin", "p") == ["1", "3"])
    #expect(try Self.ids("--message", "amount") == ["4"])
    #expect(try Self.ids("--message", "order", "--kind", "time") == [])
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("parked", "--kind", "erorr", on: daemon)
    #expect(run.exit == .failed && run.errors.contains("did you mean 'error'?"))
    let some = Run("parked", "--kind", "error", "--limit", "2", on: daemon)
    #expect(some.errors == "2 shown of 3: list them with --all\n")
    #expect(Run("parked", "--group", "--after", "x", on: daemon).exit == .failed)
  }

  @Test func `groups are the failures, the most frequent first`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    #expect(
      Run("parked", "-g", on: daemon).output == """
        EVENTS  PLUGIN  RULE  OLDEST                FAILURE
             2  p       r     2025-11-10T12:00:01Z  p.lua:2: order 17 is stuck (error)
             1  p       r     2025-11-10T12:00:02Z  p.lua:2: 50 ms (time)
             1  q       r     2025-11-10T12:00:04Z  p.lua:2: no Amount (error)

        """)
    let groups = try JSONValue(parsing: Run("parked", "-g", "--json", "--kind=time", on: daemon).output)["groups"]
    #expect(groups?[0]?["events"] == 1 && groups?[0]?["failure"]?["kind"] == "time" && groups?[1] == nil)
  }

  @Test func `parked events are written before they are dropped, and nothing else is dropped`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let folder = TemporaryFolder()
    let run = Run("drop", "-pp", "--to", folder("dropped"), on: daemon)
    #expect(run.exit == .done && run.output == "3 dropped\n")
    let lines = folder.read("dropped").split(separator: "\n").map { String($0) }
    #expect(lines == [0, 1, 2].map { Self.events[$0].text })
    #expect(
      daemon.requests.filter { $0.method == "drop" }.map(\.params) == ["1", "2", "3"].map { ["parked": .string($0)] })
    #expect(Run("drop", "4", "--to", folder("dropped"), on: daemon).output == "1 dropped\n")
    #expect(folder.read("dropped").split(separator: "\n").count == 4)
    let before = daemon.requests.count
    let refused = Run("drop", "-pp", "--to", folder("none/dropped"), on: daemon)
    #expect(refused.exit == .failed && refused.errors.contains("nothing more was dropped"))
    #expect(!daemon.requests[before...].contains { $0.method == "drop" })
  }

  @Test(arguments: [("y\n", ExitCode.done), ("yes\n", .done), ("n\n", .no), ("\n", .no), ("", .no)])
  func `a person is asked`(_ typed: String, _ exit: ExitCode) throws {
    let daemon = try FakeDaemon(result: ["dropped": 3])
    defer { daemon.stop() }
    let run = Run("drop", "-pold", on: daemon, input: typed, terminal: true)
    #expect(run.exit == exit)
    #expect(run.errors.hasPrefix("drop all that is parked for the plugin 'old'?"))
    #expect(daemon.requests.map(\.method) == (exit == .done ? ["drop"] : []))
  }

  @Test func `with --yes nobody is asked`() throws {
    let daemon = try FakeDaemon(result: ["dropped": 3])
    defer { daemon.stop() }
    #expect(Run("drop", "-pold", "--yes", on: daemon, terminal: true).output == "3 dropped\n")
  }
}

@Suite struct SubjectPatternTests {
  private static let subjects = ["device:1", "user:1", "user:12", "user:2", "user:21"]

  /// A daemon that holds these subjects, two a page.
  private static func daemon() throws -> FakeDaemon {
    try FakeDaemon { request in
      guard request.method == "subjects" else {
        return [
          request.result(["subject": request.params["subject"] ?? .null, "forgotten": ["state": 2, "timers": 0]])
        ]
      }
      let prefix = request.params["prefix"]?.stringValue ?? ""
      let after = request.params["after"]?.stringValue ?? ""
      let found = subjects.filter { $0.hasPrefix(prefix) && $0 > after }
      var page: JSONObject = ["subjects": .array(found.prefix(2).map { .string($0) })]
      if found.count > 2 { page["next"] = .string(found[1]) }
      return [request.result(.object(page))]
    }
  }

  @Test(arguments: [
    ("user:*", "user:1\nuser:12\nuser:2\nuser:21\n"), ("*1", "device:1\nuser:1\nuser:21\n"), ("user:1", "user:1\n"),
    ("*:2*", "user:2\nuser:21\n"), ("x*", ""),
  ])
  func `subjects are listed by a pattern`(_ pattern: String, _ expected: String) throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("subjects", pattern, on: daemon)
    #expect(run.output == expected)
    #expect(daemon.requests.first?.params["prefix"]?.stringValue == String(pattern.prefix { $0 != "*" }))
  }

  @Test func `a page of matches says where the next one begins`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("subjects", "*1", "--limit", "2", on: daemon)
    #expect(run.output == "device:1\nuser:1\n")
    #expect(run.errors == "2 shown, and there are more: list them with --all, or continue with --after user:1\n")
    #expect(Run("subjects", "*1", "--after", "user:1", on: daemon).output == "user:21\n")
    #expect(Run("subjects", "*1", "--prefix", "u", on: daemon).exit == .failed)
  }

  @Test func `forgetting by a pattern needs a yes`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let refused = Run("forget", "user:*", on: daemon)
    #expect(refused.exit == .failed && refused.errors.contains("4 subjects match 'user:*'; give --yes"))
    #expect(Run("forget", "user:*", on: daemon, input: "n\n", terminal: true).exit == .no)
    #expect(!daemon.requests.contains { $0.method == "forget" })
    #expect(Run("forget", "user:*", "--yes", on: daemon).output == "forgot 4 subjects: state 8\n")
    #expect(Run("forget", "*2", on: daemon, input: "y\n", terminal: true).output == "forgot 2 subjects: state 4\n")
    let forgotten = daemon.requests.filter { $0.method == "forget" }.compactMap { $0.params["subject"]?.stringValue }
    #expect(forgotten == ["user:1", "user:12", "user:2", "user:21", "user:12", "user:2"])
    #expect(Run("forget", "nobody*", "--yes", on: daemon).exit == .no)
  }
}
