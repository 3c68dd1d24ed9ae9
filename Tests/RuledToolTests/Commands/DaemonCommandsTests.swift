import RuledCore
import RuledTool
import Testing

/// Commands on rules, parked events and the daemon itself.
struct DaemonCommandsTests {
  @Test func `Forgetting prints how much it was`() throws {
    let daemon = try FakeDaemon { request in
      let count: JSONValue = request.params["subject"] == "s" ? 2 : 0
      return [request.result(["subject": "s", "forgotten": ["state": count, "timers": 0, "events": count]])]
    }
    defer { daemon.stop() }
    #expect(Run("forget", "s", on: daemon).output == "forgot s: state 2, events 2\n")
    let none = Run("forget", "other", on: daemon)
    #expect(none.output == "nothing was stored of other\n")
    #expect(none.exit == .done)
    #expect(daemon.requests.first?.method == "forget")
  }

  private static let rules: JSONValue = [
    "revision": "b1946ac9", "loaded_at": "2025-11-10T12:00:00Z",
    "plugins": [
      [
        "name": "greeter", "version": "1.0.0", "rules": ["greet", "leave"], "queries": [["name": "greetings"]],
        "runs": 12345, "failures": 1, "p50_us": 41, "p99_us": 1234.5,
      ]
    ],
    "errors": [["file": "x/plugin.lua", "line": 3, "message": "'end' expected"]],
  ]

  @Test func `Rules are listed with their figures and the errors at load`() throws {
    let daemon = try FakeDaemon(result: Self.rules)
    defer { daemon.stop() }
    let run = Run("rules", on: daemon)
    #expect(
      run.output == """
        revision b1946ac9, loaded 2025-11-10T12:00:00Z

        PLUGIN   VERSION  RULES  QUERIES    RUNS  FAILURES    P50     P99
        greeter  1.0.0        2        1  12,345         1  41 µs  1.2 ms

        the rules on disk do not load
          x/plugin.lua:3: 'end' expected

        """)
    #expect(Run("rules", "--json", on: daemon).output == Self.rules.text + "\n")
  }

  @Test func `One plugin is shown in detail`() throws {
    let daemon = try FakeDaemon(result: Self.rules)
    defer { daemon.stop() }
    let run = Run("rules", "greeter", on: daemon)
    #expect(run.output.hasSuffix("rules\n  greet\n  leave\n\nqueries\n  greetings\n"))
    let wrong = Run("rules", "greter", on: daemon)
    #expect(wrong.exit == .no)
    #expect(wrong.errors == "rulectl: no plugin 'greter' is loaded; did you mean 'greeter'?\n")
  }

  @Test func `A reload prints the revision or the errors`() throws {
    let daemon = try FakeDaemon(result: ["revision": "abc", "changed": true])
    defer { daemon.stop() }
    #expect(Run("reload", on: daemon).output == "revision abc serves now\n")
    let errors: JSONValue = [
      ["file": "a.lua", "line": 1, "message": "x"], ["file": "b.lua", "line": 2, "message": "b.lua:2: y"],
    ]
    let broken = try FakeDaemon(
      error: RequestError(.reloadFailed, "the old rules keep serving", details: ["errors": errors]))
    defer { broken.stop() }
    let run = Run("reload", on: broken)
    #expect(run.exit == .no)
    #expect(run.errors == "rulectl: the old rules keep serving\nrulectl: a.lua:1: x\nrulectl: b.lua:2: y\n")
  }

  @Test(arguments: [
    ("", 1, "a rollout runs, so changes wait", "a rollout runs, so changes wait"),
    ("a.lua", 1, "a.lua:1: x", "the rules do not load: a.lua:1: x"),
    ("/c.lua", 0, "/c.lua: can't be read", "the rules do not load: /c.lua: can't be read"),
  ])
  func `The only reason against a reload is said once`(file: String, number: Int64, reason: String, line: String) throws
  {
    let message = String(reason.dropFirst(number == 0 ? "\(file): ".count : 0))
    let errors: JSONValue = [["file": .string(file), "line": .integer(number), "message": .string(message)]]
    let daemon = try FakeDaemon(
      error: RequestError(.reloadFailed, "the rules do not load: \(reason)", details: ["errors": errors]))
    defer { daemon.stop() }
    let run = Run("reload", on: daemon)
    #expect(run.exit == .no)
    #expect(run.errors == "rulectl: \(line)\n")
  }

  @Test func `Parked events are a table`() throws {
    let daemon = try FakeDaemon(result: [
      "parked": [
        [
          "id": "9", "plugin": "p", "subject": "user:7", "events": [["type": "a.b"], ["type": "c"]],
          "failure": ["plugin": "p", "rule": "r", "kind": "time", "message": "50 ms", "file": "p.lua", "line": 2],
          "at": "2025-11-10T12:00:00Z", "tries": 2,
        ]
      ]
    ])
    defer { daemon.stop() }
    #expect(
      Run("parked", "-p", "p", on: daemon).output == """
        ID  PLUGIN  SUBJECT  EVENT           AT                    TRIES  FAILURE
        9   p       user:7   a.b and 1 more  2025-11-10T12:00:00Z      2  rule 'r': p.lua:2: 50 ms (time)

        """)
    #expect(daemon.request?.params == ["plugin": "p"])
  }

  @Test func `A retry that fails again is the answer no`() throws {
    let daemon = try FakeDaemon(result: [
      "retried": 2, "succeeded": 1, "failed": 1,
      "results": [
        ["id": "1"],
        [
          "id": "2", "failure": ["plugin": "p", "rule": "r", "kind": "error", "message": "no", "file": "f", "line": 1],
        ],
      ],
    ])
    defer { daemon.stop() }
    let run = Run("retry", "--plugin", "p", on: daemon)
    #expect(run.exit == .no)
    #expect(run.output == "2 retried: 1 succeeded, 1 failed\n  2  p, rule 'r': f:1: no (error)\n")
    _ = Run("retry", "7", on: daemon)
    #expect(daemon.requests.map(\.params) == [["plugin": "p"], ["parked": "7"]])
    #expect(Run("retry", on: daemon).exit == .failed)
    #expect(Run("retry", "7", "-p", "p", on: daemon).exit == .failed)
    #expect(daemon.requests.count == 2)
  }

  @Test func `Dropping prints how many events it dropped`() throws {
    let daemon = try FakeDaemon(result: ["dropped": 3])
    defer { daemon.stop() }
    #expect(Run("drop", "-pold", on: daemon).output == "3 dropped\n")
    #expect(daemon.request?.method == "drop")
    #expect(daemon.request?.params == ["plugin": "old"])
  }

  @Test(arguments: [("ready", ExitCode.done), ("degraded", .no)])
  func `Health is zero when ready and one when degraded`(status: String, exit: ExitCode) throws {
    let daemon = try FakeDaemon(result: [
      "status": .string(status), "revision": "abc", "store": "memory:", "workers": 2, "uptime_s": 93_784,
    ])
    defer { daemon.stop() }
    let run = Run("health", on: daemon)
    #expect(run.exit == exit)
    #expect(run.output.hasPrefix("status    \(status)\n"))
    #expect(run.output.hasSuffix("uptime_s  1d 2h\n"))
    #expect(Run("health", "--json", on: daemon).exit == exit)
  }

  @Test func `Health is shown in words, and of sinks the figures that are not zero`() throws {
    let daemon = try FakeDaemon(result: [
      "status": "degraded", "problems": ["one", "two"], "suspended": [], "parked": ["p": 2, "q": 1], "messages": [:],
      "sinks": ["mail": ["delivered": 3, "failed": 0, "oldest_s": nil, "rate": 0.2], "idle": ["delivered": 0]],
    ])
    defer { daemon.stop() }
    #expect(
      Run("health", on: daemon).output == """
        status     degraded
        problems   one, two
        suspended  -
        parked     p 2, q 1
        messages   -
        sinks      2
          mail: delivered 3, rate 0.2
          idle: -

        """)
  }

  @Test func `The clock is set, advanced and shown`() throws {
    let daemon = try FakeDaemon(result: ["now": "2025-11-24T08:00:00.000Z"])
    defer { daemon.stop() }
    #expect(Run("clock", on: daemon).output == "2025-11-24T08:00:00.000Z\n")
    _ = Run("clock", "--advance", "14d", on: daemon)
    _ = Run("clock", "--set=2025-11-10T08:00:00Z", on: daemon)
    #expect(
      daemon.requests.map(\.params) == [["advance": "0s"], ["advance": "14d"], ["set": "2025-11-10T08:00:00Z"]])
    #expect(Run("clock", "--set=x", "--advance=1d", on: daemon).exit == .failed)
    let real = try FakeDaemon(error: RequestError(.unknownMethod, "unknown method 'clock'"))
    defer { real.stop() }
    #expect(Run("clock", on: real).errors.contains("--clock manual"))
  }
}

struct WatchCommandTests {
  private static func changed(_ sequence: Int64) -> JSONValue {
    [
      "watch": 5, "sequence": .integer(sequence), "subject": "user:7", "version": 2,
      "event": ["id": "e", "type": "app.launched"], "plugins": ["p"], "decisions": ["p": ["k": 1]],
      "effects": [["id": "1", "plugin": "p", "sink": "client", "type": "Hi", "data": [:]]],
    ]
  }

  private static func notification(_ method: String, _ params: JSONValue) -> String {
    JSONValue.object(["jsonrpc": "2.0", "method": .string(method), "params": params]).text
  }

  private static func daemon() throws -> FakeDaemon {
    try FakeDaemon { request in
      [
        request.result(["watch": 5]), notification("changed", changed(1)),
        notification("lagged", ["watch": 5, "missed": 3]), notification("changed", ["watch": 6]),
        notification("changed", changed(2)),
      ]
    }
  }

  @Test func `Changes are printed as they come, and how many were missed`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("watch", "user:7", "--plugins", "p,q", "--after=0", "--count", "2", on: daemon)
    #expect(run.exit == .done)
    #expect(
      run.output == """
        #1  user:7  v2  app.launched  p.k=1  → client Hi
        #2  user:7  v2  app.launched  p.k=1  → client Hi

        """)
    #expect(run.errors == "3 changes missed: this watcher is too slow, or began too far back\n")
    #expect(daemon.request?.method == "watch")
    #expect(daemon.request?.params == ["subject": "user:7", "plugins": ["p", "q"], "after": 0])
  }

  @Test func `JSON is one change a line`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("watch", "--prefix", "user:", "--json", "-c2", on: daemon)
    #expect(run.output == Self.changed(1).text + "\n" + Self.changed(2).text + "\n")
    #expect(daemon.request?.params == ["prefix": "user:"])
  }

  @Test func `The end of the daemon ends it with code two`() throws {
    let daemon = try FakeDaemon { _ in nil }
    defer { daemon.stop() }
    let run = Run("watch", on: daemon)
    #expect(run.exit == .failed)
    #expect(run.errors.contains("closed the connection"))
  }
}
