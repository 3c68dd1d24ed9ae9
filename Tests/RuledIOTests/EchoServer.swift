import IOTestSupport
import RuledCore
import Synchronization

@testable import RuledIO

/// A connection handler that replies to each line with the line, at once or when asked to, and counts what it received.
final class EchoServer: Sendable {
  struct Account {
    var lines = 0
    var bytes = 0
    var tooLong = 0
    var closed = 0
    var mostUnsent = 0
    var otherProtocol: [Int32] = []
    var peers: [PeerCredentials] = []
    var tokens: [ConnectionToken] = []
  }

  let account = Mutex(Account())
  let thread: LoopThread
  let holdsReplies: Bool
  private let confined = Confined<Handler>()

  init(limits: ConnectionLimits = ConnectionLimits(), holdsReplies: Bool = false) throws {
    self.holdsReplies = holdsReplies
    thread = try LoopThread()
    thread.post { [self] in confined.value = Handler(self, on: $0, limits) }
  }

  var seen: Account { account.withLock { $0 } }

  func adopt(_ descriptor: Int32) {
    thread.post { [self] _ in
      guard let connection = try? confined.value?.table.adopt(descriptor) else { return }
      account.withLock {
        $0.tokens.append(connection.token)
        if let peer = connection.peer { $0.peers.append(peer) }
      }
    }
  }

  func connect() -> Client {
    let (client, server) = Client.pair()
    adopt(server)
    return client
  }

  /// Sends the replies that are held.
  func answer() { thread.post { [self] _ in confined.value?.answer() } }

  /// Runs `body` with the table, on the loop.
  func withTable<Result: Sendable>(_ body: @escaping @Sendable (ConnectionTable) -> Result) -> Result {
    thread.call { [self] _ in
      guard let handler = confined.value else { fatalError("no handler") }
      return body(handler.table)
    }
  }

  func end() {
    thread.post { [self] _ in
      confined.value?.table.close()
      confined.value = nil
    }
    thread.end()
  }

  /// The loop's side.
  final class Handler: ConnectionHandler {
    private let server: EchoServer
    let table: ConnectionTable
    private var held: [(ConnectionToken, [UInt8])] = []

    init(_ server: EchoServer, on loop: EventLoop, _ limits: ConnectionLimits) {
      self.server = server
      table = ConnectionTable(on: loop, limits: limits)
      table.handler = self
    }

    func receiveLine(_ line: ByteView, on connection: Connection) {
      server.account.withLock {
        $0.lines += 1
        $0.bytes += line.count
        $0.mostUnsent = max($0.mostUnsent, connection.unsent)
      }
      if server.holdsReplies {
        connection.beginRequest()
        held.append((connection.token, Array(line)))
      } else {
        reply(Array(line), on: connection)
      }
    }

    func answer() {
      for (token, line) in held {
        guard let connection = table[token] else { continue }
        reply(line, on: connection)
        connection.endRequest()
      }
      held = []
    }

    private func reply(_ line: [UInt8], on connection: Connection) {
      line.withView { connection.addOutput($0) }
      connection.withOutput { $0.append(10) }
    }

    func reportSkippedLine(_ reason: LineFramer.SkipReason, on connection: Connection) {
      switch reason {
      case .tooLong:
        server.account.withLock { $0.tooLong += 1 }
        connection.withOutput { $0.append("too long\n" as StaticString) }
      case .outOfMemory:
        connection.withOutput { $0.append("out of memory\n" as StaticString) }
      }
    }

    func receiveOtherProtocol(on descriptor: Int32, with permit: ConnectionPermit?) {
      server.account.withLock { $0.otherProtocol.append(descriptor) }
    }

    func reportUnreadOutput(on connection: Connection) {}

    func forget(_ connection: Connection) { server.account.withLock { $0.closed += 1 } }
  }
}
