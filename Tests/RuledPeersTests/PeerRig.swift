import Glibc
import RuledCore
import RuledIO
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledPeers

/// Certificates of one authority, made by the script that users have.
final class Certificates: Sendable {
  /// Those of the nodes a, b and c, which all tests use.
  static let shared = Certificates(["a", "b", "c"])
  /// Those of another authority.
  static let foreign = Certificates(["a", "b"])
  private static let root = String(#filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 })
  private let folder = TemporaryFolder()

  init(_ nodes: [String]) {
    let hosts = nodes.map { "\($0)=127.0.0.1" }.joined(separator: " ")
    Self.shell("\(Self.root)/examples/cluster/make-certificates \(folder("tls")) \(hosts)")
  }

  static func shell(_ command: String) {
    let status = system("{ \(command); } >/dev/null 2>&1")
    precondition(status == 0, "\(command) failed")
  }

  /// Makes a certificate for `node` that has expired.
  func expire(_ node: String) -> PeerIdentity {
    let files = folder("tls/\(node)")
    Self.shell(
      """
      cd \(folder("tls")) && openssl req -new -key \(files)/node.key -subj /CN=ruled -out \(files)/request \
        && printf 'subjectAltName=DNS:\(node)' >\(files)/names && openssl x509 -req -in \(files)/request -CA authority.pem \
        -CAkey authority.key -set_serial 1 -days 0 -extfile \(files)/names -out \(files)/expired.pem && sleep 1.1
      """)
    return identity(node, file: "expired")
  }

  func identity(_ node: String, file: String = "node", authority: Certificates? = nil) -> PeerIdentity {
    let files = folder("tls/\(node)")
    do {
      return try PeerIdentity(
        certificate: "\(files)/\(file).pem", key: "\(files)/node.key",
        authority: (authority ?? self).folder("tls/authority.pem"))
    } catch {
      fatalError("\(error)")
    }
  }

  func path(_ name: String) -> String { folder("tls/\(name)") }
}

/// What happened, for tests that wait for it.
final class Journal<Item: Sendable>: Sendable {
  private let stored: Mutex<[Item]> = Mutex([])

  func add(_ item: Item) { stored.withLock { $0.append(item) } }
  var items: [Item] { stored.withLock { $0 } }
}

/// One end of a socket pair, in a test's hands.
final class Socket: Sendable {
  let descriptor: Int32
  private let isOpen = Mutex(true)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close() }

  static func pair() -> (near: Socket, far: Int32) {
    var pair: [Int32] = [-1, -1]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
    return (Socket(pair[0]), pair[1])
  }

  /// Sends what fits now; gives how many bytes that were.
  func sendNow(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { max(0, Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))) }
  }

  /// Sends all, and waits for room.
  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty, wait(POLLOUT) {
      let count = sendNow(rest)
      if count == 0, errno != EAGAIN { return }
      rest = rest.dropFirst(count)
    }
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// What is there, after a wait for it; nil at the end.
  func receive() -> [UInt8]? {
    guard wait(POLLIN) else { return nil }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  /// So many bytes, or those before the end.
  func receive(_ count: Int) -> String {
    var bytes: [UInt8] = []
    while bytes.count < count, let more = receive() { bytes += more }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// All bytes before the end.
  func receiveAll() -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = receive() { bytes += more }
    return bytes
  }

  func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  func close() {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if wasOpen { Glibc.close(descriptor) }
  }

  private func wait(_ event: Int32) -> Bool {
    var polled = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    return poll(&polled, 1, 180_000) == 1
  }
}

/// Node b with a listener, and node a with a link to it through a relay.
final class PeerRig: Sendable {
  let a: PeerLoop
  let b: PeerLoop
  let listener: PeerListener
  let link: PeerLink
  let relay: Relay
  let notesOfA = Journal<PeerNote>()
  let notesOfB = Journal<PeerNote>()
  /// The clients that came to node b, with the sockets that speak for them.
  let clients: Journal<(client: ClientAccess, socket: Socket)>
  /// What became of the tunnels.
  let outcomes = Journal<PeerLink.Outcome>()

  /// Limits that let tests see a dead peer soon.
  static var limits: PeerLimits {
    var limits = PeerLimits()
    limits.keepAliveMilliseconds = 100
    limits.silenceMilliseconds = 700
    limits.lingerMilliseconds = 200
    limits.backoff = Backoff(first: 20, longest: 100)
    return limits
  }

  init(
    a nameOfA: String = "a", identityOfA: PeerIdentity = Certificates.shared.identity("a"),
    identityOfB: PeerIdentity = Certificates.shared.identity("b"), limits: PeerLimits = limits, refusal: String? = nil
  ) throws {
    a = try PeerLoop()
    b = try PeerLoop()
    let (notesOfA, notesOfB) = (notesOfA, notesOfB)
    let clients = Journal<(client: ClientAccess, socket: Socket)>()
    self.clients = clients
    let home = try #require(NodeAddress("127.0.0.1:0"))
    var settings = PeerSettings(name: "b", identity: identityOfB, limits: limits) { notesOfB.add($0) }
    listener = try PeerListener(on: b, at: home, settings) { client, socket in
      if refusal == nil { clients.add((client, Socket(socket))) }
      return refusal
    }
    relay = try Relay(to: listener.port)
    settings = PeerSettings(name: nameOfA, identity: identityOfA, limits: limits) { notesOfA.add($0) }
    link = PeerLink(on: a, to: "b", at: try #require(NodeAddress("127.0.0.1:\(relay.port)")), settings)
  }

  deinit {
    relay.end()
    a.stop()
    b.stop()
  }

  func waitForLink() -> Bool { eventually { link.isUp } }

  /// Waits until node a has handled all that had come to its sockets.
  func awaitTurn() -> Bool {
    (0..<2).allSatisfy { _ in
      let turns = Journal<Bool>()
      a.post { _ in turns.add(true) }
      return eventually { !turns.items.isEmpty }
    }
  }

  /// Waits until signs of life have passed for so long that a connection without them would be over, and `isQuiet` held all the time.
  func awaitSignsOfLife(while isQuiet: () -> Bool = { true }) -> Bool {
    let limits = Self.limits
    // In each interval the permanent connection and the tunnel carry a ping there and a pong back.
    let wanted = 4 * 3 * Int(limits.silenceMilliseconds / limits.keepAliveMilliseconds)
    var start = relay.moves
    return eventually {
      if !isQuiet() { start = relay.moves }
      return relay.moves >= start + wanted
    }
  }

  /// Opens a tunnel; gives the client's end.
  func open(_ client: ClientAccess = ClientAccess(.lines), after bytes: [UInt8] = []) -> Socket {
    let (near, far) = Socket.pair()
    link.open(far, for: client, after: bytes) { [outcomes] outcome in
      outcomes.add(outcome)
      if case .refused = outcome { close(far) }
    }
    return near
  }

  /// Opens a tunnel that stands; gives both ends.
  func tunnel() throws -> (client: Socket, daemon: Socket) {
    let count = clients.items.count
    let client = open()
    try #require(eventually { clients.items.count == count + 1 })
    return (client, try #require(clients.items.last).socket)
  }

  /// Why the link broke, or could not be made, each time.
  var breaks: [String] {
    notesOfA.items.compactMap { if case .broken(_, let reason, _) = $0 { reason } else { nil } }
  }

  /// Why the listener refused somebody, each time.
  var refusals: [String] {
    notesOfB.items.compactMap { if case .refused(_, let reason) = $0 { reason } else { nil } }
  }

  /// How often the link was made.
  var linkings: Int { notesOfA.items.count { $0 == .linked(node: "b") } }
}

extension PeerLink {
  /// Whether the other node can be reached.
  var isUp: Bool { problem == nil }
}
