import RuledCore
import RuledEngine
import RuledWire

/// The requests of a follower's clients about subjects that the follower itself evaluates: they go straight to its workers.
///
/// Confined to the thread with the clients.
final class OwnSubjects {
  /// A request that was passed on.
  private struct Sent {
    let connection: ConnectionToken
    let text: [UInt8]
  }

  /// Changes when partitions come.
  private(set) var generation = 0
  private var partitions = PartitionSet()
  private var services: Services?
  private var bundles: [RequestBundle?] = []
  private var sent: [UInt64: Sent] = [:]
  private var lastNumber: UInt64 = 0
  private var gathered = GatheredReplies()
  private let clients: OwnClients
  private let table: ConnectionTable
  private let parser = RequestParser()
  private let buffer = ByteBuffer(capacity: 1024)

  /// No subjects yet; `clients` tells which come and go, `table` has the connections.
  init(_ clients: OwnClients, _ table: ConnectionTable) {
    self.clients = clients
    self.table = table
  }

  /// The place of the subject that a line is about, if this node evaluates it; nil where only the owner knows what to do.
  func place(of line: ByteView) -> SubjectPlace? {
    guard let services, !partitions.isEmpty else { return nil }
    guard services.inFlight.load(ordering: .relaxed) < services.context.configuration.limits.inFlight else {
      return nil
    }
    guard let subject = line.eventSubject else { return nil }
    let place = services.place(of: subject)
    guard let partition = place.partition, partitions.contains(partition), place.owner < bundles.count else {
      return nil
    }
    return place
  }

  /// The partition of the subject that a line's one request is about, if this node evaluates that.
  func partition(of line: RequestLine) -> Partition? {
    guard !partitions.isEmpty, case .single(.request(let request)) = line,
      let partition = request.params?.member("subject")?.string.map({ Partition(of: $0) })
    else { return nil }
    return partitions.contains(partition) ? partition : nil
  }

  /// Passes a line on to the worker of its subject; called with what `place` returned.
  func forward(_ line: ByteView, _ place: SubjectPlace, isAdmin: Bool, from connection: Connection) {
    guard let services else { return }
    lastNumber += 1
    sent[lastNumber] = Sent(connection: connection.token, text: Array(line))
    connection.beginRequest()
    services.inFlight.wrappingAdd(1, ordering: .relaxed)
    let bundle = bundles[place.owner] ?? RequestBundle()
    bundles[place.owner] = bundle
    bundle.append(
      line, to: ReplyTarget(.standby, connection: lastNumber, isAdmin: isAdmin), subject: place.hash,
      partition: place.partition)
  }

  /// Hands the lines of the tick to the workers.
  func flush() {
    guard let services else { return }
    for (worker, bundle) in bundles.enumerated() {
      guard let bundle else { continue }
      bundles[worker] = nil
      services.workers[worker].send(.requests(bundle))
    }
  }

  /// Does what the part of the engine tells.
  func receive(_ event: OwnClients.Event) {
    switch event {
    case .arrived(let set, let services):
      self.services = services
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
      services?.inFlight.wrappingSubtract(1, ordering: .relaxed)
      guard let connection = table[request.connection] else { return }
      if !bytes.isEmpty { connection.send(bytes) }
      connection.endRequest()
    }
  }

  /// Refuses what has no reply: nobody knows whether it took effect.
  func end(_ reason: String) {
    sendReplies()
    partitions = PartitionSet()
    services = nil
    bundles = []
    let unanswered = sent.sorted { $0.key < $1.key }
    sent = [:]
    for (_, request) in unanswered {
      guard let connection = table[request.connection] else { continue }
      refuse(request.text, on: connection, reason)
      connection.endRequest()
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
