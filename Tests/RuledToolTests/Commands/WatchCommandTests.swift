import RuledCore
import RuledTool
import Testing

/// `rulectl watch`.
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

  @Test func `Changes are printed as they come and what was missed is said`() throws {
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
