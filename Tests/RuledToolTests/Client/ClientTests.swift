import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledTool

/// Connecting and what can go wrong with it.
struct ClientTests {
  @Test func `without a daemon a backup makes no folder`() {
    let folder = TemporaryFolder()
    #expect(Run(words: ["backup", folder("a/b"), "--socket", folder("none")]).exit == .failed)
    #expect(TemporaryFolder.names(folder(".")).isEmpty)
  }

  @Test func `Without a daemon the message says how to start one`() {
    let run = Run("health", "--socket", "/nonexistent/x.sock")
    #expect(run.exit == .failed)
    #expect(run.errors.hasPrefix("rulectl: no daemon listens on /nonexistent/x.sock; start it with "))
    #expect(run.errors.contains("ruled --socket /nonexistent/x.sock"))
  }

  @Test func `A socket that nobody serves any more is no daemon`() throws {
    let daemon = try FakeDaemon(result: [:])
    daemon.stop()
    #expect(Run("health", on: daemon).errors.contains("no daemon listens on"))
  }

  @Test func `A path that is too long is refused`() {
    let path = "/" + String(repeating: "x", count: 120)
    #expect(Run("health", "--socket", path).errors.contains("longer than 107 bytes"))
  }

  @Test(.enabled(if: geteuid() != 0, "root may open any socket"))
  func `A socket that is not open to us names its group`() throws {
    let daemon = try FakeDaemon(result: [:])
    defer { daemon.stop() }
    chmod(daemon.path, 0)
    #expect(Run("health", on: daemon).errors.contains("is open to the group"))
  }

  @Test func `Something that speaks another protocol is named as such`() throws {
    let daemon = try FakeDaemon { _ in ["HTTP/1.1 400 Bad Request"] }
    defer { daemon.stop() }
    let run = Run("health", on: daemon)
    #expect(run.exit == .failed)
    #expect(run.errors.contains("does not speak ruled's protocol"))
  }

  @Test func `An error without a number ends the call`() throws {
    let daemon = try FakeDaemon { _ in
      [#"{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"full","data":{"code":"overloaded"}}}"#]
    }
    defer { daemon.stop() }
    #expect(Run("health", on: daemon).errors == "rulectl: full\n")
  }

  @Test func `Errors say what can be done`() {
    let retry = RequestError(.overloaded, "too much", details: ["retry_after_ms": 50])
    let expected = [
      (RequestError(.forbidden, "no"), "no; call as root or as one of the daemon's 'admins'"),
      (RequestError(.unavailable, "shut"), "shut"),
      (retry, "too much; try again in 50 ms"), (RequestError(.tooLarge, "big"), "big"),
    ]
    for (error, line) in expected {
      let buffer = ByteBuffer()
      error.write(to: buffer)
      #expect(JSONValue(text: buffer.text).map { DaemonError($0).lines } == [line])
    }
  }

  @Test func `Only who sent an event is told to send it again`() throws {
    let daemon = try FakeDaemon(error: RequestError(.unavailable, "shut"))
    defer { daemon.stop() }
    #expect(Run("event", "t", "s", on: daemon).errors == "rulectl: shut; nothing was applied, so send it again\n")
    for words in [["log"], ["explain", "s", "e"]] {
      #expect(Run(words: words, on: daemon).errors == "rulectl: shut\n")
    }
    let damaged = try FakeDaemon(error: RequestError(.unavailable, "the state can't be read, nothing was applied"))
    defer { damaged.stop() }
    let run = Run("event", "t", "s", on: damaged)
    #expect(run.errors == "rulectl: the state can't be read, nothing was applied\n")
  }

  @Test func `A lost reply to a change leaves open whether it took effect`() throws {
    let daemon = try FakeDaemon { _ in nil }
    defer { daemon.stop() }
    func errors(_ words: String...) -> String { Run(words: words, on: daemon).errors }
    #expect(errors("event", "t", "s", "--id", "e").contains("send it again with the same --id: the daemon finds"))
    #expect(errors("event", "t", "s", "--id", "e", "--source", "x").contains("with the same --id and --source: "))
    #expect(errors("event", "t", "s").contains("as it had no --id, sending it again may apply it twice"))
    #expect(errors("forget", "s").contains("it is not known whether 'forget' took effect"))
    for words in [["health"], ["event", "t", "s", "--dry-run"]] {
      #expect(Run(words: words, on: daemon).errors.hasSuffix("'rulectl health' shows whether it is back\n"))
    }
  }

  @Test func `Requests are pipelined and replies matched by number`() throws {
    let daemon = try FakeDaemon { [$0.result($0.params)] }
    defer { daemon.stop() }
    let client = try Client(path: daemon.path)
    for number in 1...1000 { #expect(client.submit("echo", ["n": .integer(Int64(number))]) == number) }
    for number in 1...1000 {
      guard case .reply(let id, .success(let result)) = try client.receive() else {
        Issue.record("no reply")
        return
      }
      #expect(id == Int64(number))
      #expect(result == ["n": .integer(Int64(number))])
    }
    #expect(try client.call("echo", [1, 2]) == [1, 2])
  }
}
