import Glibc
import RuledThreads
import Synchronization
import TestSupport

/// Stands between a node and its database, on a Unix socket, and loses what it is told to lose.
final class DatabaseProxy: Sendable {
  /// What happens to the next statement of any connection; after it, everything passes again.
  enum Fault: Int {
    case none
    /// The database gets it, and the connection breaks before the answer.
    case answerLost
    /// The connection breaks, and the database never gets it.
    case statementLost
    /// The connection breaks at the node's end, and the database gets the statement later, by `deliver`.
    case statementLate
    /// The database gets all but the last five bytes, which end the transaction, and the connection stays.
    case endLost
  }

  /// The folder of its socket.
  let folder = TemporaryFolder()
  private let target: String
  private let listener: Int32
  private let fault = Atomic(0)
  private let faults = Atomic(0)
  private let late = Mutex<[(descriptor: Int32, bytes: [UInt8])]>([])

  /// A proxy of the server whose socket is in `target`.
  init(to target: String) throws {
    self.target = "\(target)/.s.PGSQL.5432"
    let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    listener = made
    _ = Self.withAddress("\(folder.path)/.s.PGSQL.5432") { bind(made, $0, $1) }
    listen(made, 64)
    _ = try Thread(name: "proxy") { [weak self] in
      while true {
        let node = accept(made, nil, nil)
        guard node >= 0, let self else { return }
        self.serve(node)
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Sets what happens to the next statement that is sent.
  func arm(_ next: Fault) { fault.store(next.rawValue, ordering: .sequentiallyConsistent) }

  /// How many faults there were.
  var count: Int { faults.load(ordering: .sequentiallyConsistent) }

  /// Lets the database have the statements that are late.
  func deliver() {
    let due = late.withLock { late in
      defer { late = [] }
      return late
    }
    for (descriptor, bytes) in due {
      sendAll(bytes, to: descriptor)
      // The database answers once it has executed them.
      var answer = [UInt8](repeating: 0, count: 4096)
      _ = read(descriptor, &answer, answer.count)
      close(descriptor)
    }
  }

  private func serve(_ node: Int32) {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
      close(node)
      close(server)
      return
    }
    let state = Pair(node: node, server: server)
    _ = try? Thread(name: "proxy-up") { [self] in forward(state) }
    _ = try? Thread(name: "proxy-down") { [self] in answer(state) }
  }

  private final class Pair: Sendable {
    let node: Int32
    let server: Int32
    let losesAnswer = Atomic(false)
    let isHeld = Atomic(false)

    init(node: Int32, server: Int32) {
      self.node = node
      self.server = server
    }

    deinit {
      close(node)
      close(server)
    }
  }

  /// Brings what the node sends to the server.
  private func forward(_ pair: Pair) {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(pair.node, &buffer, buffer.count)
      guard count > 0 else { break }
      let bytes = Array(buffer[..<count])
      // The last word of a client that ends is none that a fault may lose.
      let isEnd = count == 5 && buffer[0] == UInt8(ascii: "X")
      let armed = isEnd ? .none : Fault(rawValue: fault.exchange(0, ordering: .sequentiallyConsistent)) ?? .none
      if armed != .none { faults.wrappingAdd(1, ordering: .sequentiallyConsistent) }
      switch armed {
      case .none: sendAll(bytes, to: pair.server)
      case .answerLost:
        pair.losesAnswer.store(true, ordering: .sequentiallyConsistent)
        sendAll(bytes, to: pair.server)
      case .statementLost:
        shutdown(pair.node, Int32(SHUT_RDWR))
        shutdown(pair.server, Int32(SHUT_RDWR))
      case .statementLate:
        pair.isHeld.store(true, ordering: .sequentiallyConsistent)
        late.withLock { $0.append((dup(pair.server), bytes)) }
        shutdown(pair.node, Int32(SHUT_RDWR))
      case .endLost: sendAll(Array(bytes.dropLast(5)), to: pair.server)
      }
    }
    if !pair.isHeld.load(ordering: .sequentiallyConsistent) { shutdown(pair.server, Int32(SHUT_RDWR)) }
  }

  /// Brings what the server answers to the node.
  private func answer(_ pair: Pair) {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      if pair.isHeld.load(ordering: .sequentiallyConsistent) { return }
      var ready = pollfd(fd: pair.server, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 50) != 0 else { continue }
      if pair.isHeld.load(ordering: .sequentiallyConsistent) { return }
      let count = read(pair.server, &buffer, buffer.count)
      guard count > 0, !pair.losesAnswer.load(ordering: .sequentiallyConsistent) else { break }
      sendAll(Array(buffer[..<count]), to: pair.node)
    }
    shutdown(pair.node, Int32(SHUT_RDWR))
    shutdown(pair.server, Int32(SHUT_RDWR))
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
