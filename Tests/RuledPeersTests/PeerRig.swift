import Glibc
import RuledCore
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
    let place = folder("tls/\(node)")
    Self.shell(
      """
      cd \(folder("tls")) && openssl req -new -key \(place)/node.key -subj /CN=ruled -out \(place)/request \
        && printf 'subjectAltName=DNS:\(node)' >\(place)/names && openssl x509 -req -in \(place)/request -CA authority.pem \
        -CAkey authority.key -set_serial 1 -days 0 -extfile \(place)/names -out \(place)/expired.pem && sleep 1.1
      """)
    return identity(node, file: "expired")
  }

  func identity(_ node: String, file: String = "node", authority: Certificates? = nil) -> PeerIdentity {
    let place = folder("tls/\(node)")
    do {
      return try PeerIdentity(
        certificate: "\(place)/\(file).pem", key: "\(place)/node.key",
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

/// Polls until `condition` holds, for 30 s at most.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  for _ in 0..<15_000 {
    if try condition() { return true }
    usleep(2000)
  }
  return false
}

/// An answer as a value that outlives the call.
enum Heard: Sendable, Equatable {
  case answered(String)
  case overloaded
  case unavailable(wasSent: Bool)

  init(_ answer: PeerAnswer) {
    switch answer {
    case .answered(let bytes): self = .answered(String(decoding: bytes, as: UTF8.self))
    case .overloaded: self = .overloaded
    case .unavailable(let wasSent): self = .unavailable(wasSent: wasSent)
    }
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
  let answers = Journal<Heard>()

  /// Limits that let tests see a dead peer soon.
  static var limits: PeerLimits {
    var limits = PeerLimits()
    limits.keepAliveMilliseconds = 100
    limits.silenceMilliseconds = 700
    limits.backoff = Backoff(first: 20, longest: 100)
    return limits
  }

  /// `answer` is node b's; without one, b answers each request with its own bytes.
  init(
    a nameOfA: String = "a", identityOfA: PeerIdentity = Certificates.shared.identity("a"),
    identityOfB: PeerIdentity = Certificates.shared.identity("b"), limitsOfA: PeerLimits = limits,
    limitsOfB: PeerLimits = limits,
    answer: @escaping PeerListener.Receiver = { batch, reply in
      for index in 0..<batch.count { reply.answer(index, batch[index]) }
    }
  ) throws {
    a = try PeerLoop()
    b = try PeerLoop()
    let (notesOfA, notesOfB) = (notesOfA, notesOfB)
    listener = try PeerListener(
      on: b, at: "127.0.0.1:0",
      PeerSettings(name: "b", identity: identityOfB, limits: limitsOfB) { notesOfB.add($0) }, receive: answer)
    relay = try Relay(to: listener.port)
    link = try PeerLink(
      on: a, to: "b", at: "127.0.0.1:\(relay.port)",
      PeerSettings(name: nameOfA, identity: identityOfA, limits: limitsOfA) { notesOfA.add($0) })
  }

  deinit {
    relay.end()
    a.stop()
    b.stop()
  }

  func waitForLink() -> Bool { eventually { link.isUp } }

  /// Sends one batch and notes its answers.
  @discardableResult
  func send(_ requests: [String]) -> PeerLink.Acceptance {
    let batch = PeerBatch()
    for request in requests { request.withView { batch.append($0) } }
    return link.send(batch) { [answers] _, answer in answers.add(Heard(answer)) }
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
