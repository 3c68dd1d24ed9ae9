import CUV
import Glibc
import IOTestSupport
import TestSupport
import Testing

@testable import RuledIO

@Suite struct ListenerTests {
  private let folder = TemporaryFolder()

  private func error(_ body: () throws -> Void) -> ListenError? {
    do { try body() } catch let error as ListenError { return error } catch {}
    return nil
  }

  /// A socket file that nobody listens on, as a crash leaves it.
  private func leaveStaleSocket(_ path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let address = try #require(UnixAddress(path))
    #expect(address.withSockaddr { bind(descriptor, $0, $1) } == 0)
    close(descriptor)
  }

  private func mode(_ path: String) -> UInt32? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : nil
  }

  @Test func `missing folders are made and the file has its mode`() throws {
    let path = folder("a/b/s")
    do {
      let socket = try ListeningSocket(path: path)
      #expect(socket.descriptor >= 0)
      #expect(mode(path).map { $0 & 0o777 } == 0o660)
      #expect(Client(path: path) != nil)
    }
    #expect(mode(path) == nil)
  }

  @Test(arguments: [false, true])
  func `an inherited socket knows its own path`(isAbstract: Bool) throws {
    let path = (isAbstract ? "@" : "") + folder("handed")
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let address = try #require(UnixAddress(path))
    #expect(address.withSockaddr { bind(descriptor, $0, $1) } == 0)
    #expect(listen(descriptor, 1) == 0)
    let inherited = try ListeningSocket(inheriting: descriptor)
    #expect(inherited.path == path)
    _ = consume inherited
  }

  @Test func `a socket that is bound to nothing has no path`() {
    let descriptor = OwnedDescriptor(owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
    #expect(UnixAddress(of: descriptor.number) == nil)
    _ = consume descriptor
  }

  @Test func `a stale socket is replaced`() throws {
    try leaveStaleSocket(folder("s"))
    let socket = try ListeningSocket(path: folder("s"))
    #expect(Client(path: folder("s")) != nil)
    _ = consume socket
  }

  @Test func `a live socket is refused`() throws {
    let path = folder("s")
    let first = try ListeningSocket(path: path)
    #expect(error { _ = try ListeningSocket(path: path) } == .occupied(path: path))
    #expect(Client(path: path) != nil)
    _ = consume first
  }

  @Test func `a file that is not a socket is refused and left`() throws {
    folder.write("s", "text")
    let path = folder("s")
    #expect(error { _ = try ListeningSocket(path: path) } == .notASocket(path: path))
    #expect(mode(path) != nil)
  }

  @Test func `a path that is too long is named`() {
    let path = folder(String(repeating: "x", count: 120))
    #expect(error { _ = try ListeningSocket(path: path) } == .invalidPath(path: path))
  }

  @Test func `a file that another process has put there is not removed`() throws {
    let path = folder("s")
    let first = try ListeningSocket(path: path)
    unlink(path)
    try leaveStaleSocket(path)
    _ = consume first
    #expect(mode(path) != nil)
  }

  @Test func `an inherited socket keeps its file`() throws {
    let path = folder("s")
    let made = try ListeningSocket(path: path)
    #expect(SocketActivation.isListeningStream(made.descriptor, of: [AF_UNIX]))
    do {
      let inherited = try ListeningSocket(inheriting: dup(made.descriptor))
      #expect(inherited.descriptor >= 0)
    }
    #expect(Client(path: path) != nil)
    _ = consume made
  }

  @Test func `inherited descriptors are used only if meant for this process`() {
    let two = SocketActivation.descriptors(listenPID: "7", listenCount: "2", names: "a", pid: 7)
    #expect(two.map(\.description) == ["'a' (descriptor 3)", "descriptor 4"])
    #expect(SocketActivation.descriptors(listenPID: "8", listenCount: "2", names: nil, pid: 7).isEmpty)
    #expect(SocketActivation.descriptors(listenPID: "7", listenCount: "x", names: nil, pid: 7).isEmpty)
    #expect(SocketActivation.descriptors(listenPID: nil, listenCount: "1", names: nil, pid: 7).isEmpty)
    #expect(SocketActivation.descriptors(listenPID: "7", listenCount: "-1", names: nil, pid: 7).isEmpty)
  }

  @Test func `accepted clients are served until the listener stops`() throws {
    let path = folder("s")
    let server = try EchoServer()
    defer { server.end() }
    let listener = Confined<Listener>()
    server.thread.post { loop in
      do {
        listener.value = try Listener(on: loop, ListeningSocket(path: path)) { server.adopt($0) }
      } catch {
        Issue.record(error)
      }
    }
    let clients = (0..<50).map { _ in () }.compactMap { _ -> Client? in
      var client: Client?
      _ = eventually {
        client = Client(path: path)
        return client != nil
      }
      return client
    }
    #expect(clients.count == 50)
    for (index, client) in clients.enumerated() { client.send("[\(index)]\n") }
    for (index, client) in clients.enumerated() { #expect(client.receive(lines: 1) == "[\(index)]\n") }
    server.thread.call { _ in
      listener.value?.stop()
      listener.value = nil
    }
    #expect(Client(path: path) == nil)
    clients[0].send("[1]\n")
    #expect(clients[0].receive(lines: 1) == "[1]\n")
  }
}
