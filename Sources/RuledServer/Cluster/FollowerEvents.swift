import RuledCore
import RuledEngine
import RuledWire

/// The events of a follower's clients, while the follower has partitions: those about its own subjects go straight to its workers, the others over
/// the share to the owner.
///
/// Confined to the thread with the clients.
final class FollowerEvents {
  /// A request that was passed on.
  private struct Sent {
    let connection: ConnectionToken
    let text: [UInt8]
    /// Whether the owner has it.
    let isOwners: Bool
  }

  /// Where an event goes.
  enum Way {
    /// To a worker of this node.
    case own(SubjectPlace)
    /// Over the share to the owner.
    case owner(SubjectPlace)

    /// The partition of its subject.
    var partition: Partition? {
      switch self {
      case .own(let place), .owner(let place): place.partition
      }
    }
  }

  /// Changes when partitions come.
  private(set) var generation = 0
  private var partitions = PartitionSet()
  private var services: Services?
  private var bundles: [RequestBundle?] = []
  /// The events of the tick for the owner.
  private var owners: RequestBundle?
  private var sendToOwner: (@Sendable (RequestBundle) -> Void)?
  private let answered: (ConnectionToken) -> Void
  private var sent: [UInt64: Sent] = [:]
  private var lastNumber: UInt64 = 0
  private var gathered = ReplyBundle()
  private let clients: OwnClients
  private let table: ConnectionTable
  private let parser = RequestParser()
  private let buffer = ByteBuffer(capacity: 1024)

  /// No subjects yet; `clients` tells which come and go, `table` has the connections.
  ///
  /// `answered` is called after each reply of the owner.
  init(_ clients: OwnClients, _ table: ConnectionTable, answered: @escaping (ConnectionToken) -> Void) {
    self.clients = clients
    self.table = table
    self.answered = answered
  }

  /// Where the event in a line goes; nil where only the owner knows what to do with the line.
  func way(of line: ByteView) -> Way? {
    guard let services, !partitions.isEmpty else { return nil }
    guard services.inFlight.load(ordering: .relaxed) < services.context.configuration.limits.inFlight else {
      return nil
    }
    guard let subject = line.eventSubject else { return nil }
    let place = services.place(of: subject)
    guard let partition = place.partition else { return nil }
    guard partitions.contains(partition) else { return .owner(place) }
    return place.owner < bundles.count ? .own(place) : nil
  }

  /// The partition of the subject that a line's one request is about, while this node has any.
  func partition(of line: RequestLine) -> Partition? {
    guard !partitions.isEmpty, case .single(.request(let request)) = line else { return nil }
    return request.params?.member("subject")?.string.map { Partition(of: $0) }
  }

  /// Passes a line on; called with what `way` returned.
  func forward(_ line: ByteView, _ way: Way, isAdmin: Bool, from connection: Connection) {
    guard let services else { return }
    lastNumber += 1
    connection.beginRequest()
    let (place, bundle, isOwners): (SubjectPlace, RequestBundle, Bool)
    switch way {
    case .own(let own):
      services.inFlight.wrappingAdd(1, ordering: .relaxed)
      (place, bundle, isOwners) = (own, bundles[own.owner] ?? RequestBundle(), false)
      bundles[own.owner] = bundle
    case .owner(let other):
      (place, bundle, isOwners) = (other, owners ?? RequestBundle(), true)
      owners = bundle
    }
    sent[lastNumber] = Sent(connection: connection.token, text: Array(line), isOwners: isOwners)
    bundle.append(
      line, to: ReplyTarget(.standby, connection: lastNumber, isAdmin: isAdmin), subject: place.hash,
      partition: place.partition)
  }

  /// Hands the lines of the tick to the workers and to the owner.
  func flush() {
    guard let services else { return }
    if let bundle = owners {
      owners = nil
      sendToOwner?(bundle)
    }
    for (worker, bundle) in bundles.enumerated() {
      guard let bundle else { continue }
      bundles[worker] = nil
      services.workers[worker].send(.requests(bundle))
    }
  }

  /// Does what the part of the engine tells.
  func receive(_ event: OwnClients.Event) {
    switch event {
    case .arrived(let set, let services, let send):
      self.services = services
      sendToOwner = send
      if bundles.isEmpty { bundles = Array(repeating: nil, count: services.workers.count) }
      partitions.formUnion(set)
      generation += 1
    case .leaving(let set, let done):
      partitions.subtract(set)
      flush()
      done()
    case .replies: sendReplies()
    case .ended(let reason): end(reason)
    }
  }

  private func sendReplies() {
    clients.take(into: &gathered)
    gathered.forEach { bytes, target in
      guard let request = sent.removeValue(forKey: target.connection) else { return }
      if !request.isOwners { services?.inFlight.wrappingSubtract(1, ordering: .relaxed) }
      guard let connection = table[request.connection] else { return }
      if !bytes.isEmpty { connection.send(bytes) }
      connection.endRequest()
      if request.isOwners { answered(request.connection) }
    }
  }

  /// Refuses what has no reply: nobody knows whether it took effect.
  func end(_ reason: String) {
    sendReplies()
    partitions = PartitionSet()
    services = nil
    bundles = []
    owners = nil
    sendToOwner = nil
    let unanswered = sent.sorted { $0.key < $1.key }
    sent = [:]
    for (_, request) in unanswered {
      guard let connection = table[request.connection] else { continue }
      refuse(request.text, on: connection, reason)
      connection.endRequest()
      if request.isOwners { answered(request.connection) }
    }
  }

  private func refuse(_ text: [UInt8], on connection: Connection, _ reason: String) {
    let error = RequestError(
      .unavailable,
      "this node evaluates no longer for the owner of the log of commits: \(reason); the request may have taken effect: "
        + "send it again, a repeat finds the first outcome", details: [.init("retry_after_ms", 100)])
    ReplySender.writeRefusal(of: text, error, isAlone: true, parser: parser, to: buffer)
    if buffer.count > 0 { connection.send(buffer.bytes) }
  }
}
