import RuledCore
import RuledEngine
import RuledWire

/// The clients of the node: what they ask about subjects that are evaluated elsewhere.
extension RemoteEvaluator {
  /// Has events of the node's clients executed where their subjects are.
  func execute(_ requests: [SharedRequest]) {
    let limit = services.context.configuration.limits.inFlight
    var bundles: [Int: RequestBundle] = [:]
    for request in requests {
      let target = ReplyTarget(
        .node(slot), connection: request.number, slot: number, isAdmin: request.isAdmin)
      unanswered += 1
      let inFlight = services.inFlight.wrappingAdd(1, ordering: .relaxed).newValue
      guard inFlight <= limit else {
        refuse(Array(request.text), target, Self.isOverloaded)
        continue
      }
      text.removeAll()
      text.append(request.text)
      text.reserve(LineFramer.padding)
      // Any worker answers what is wrong with a request that is no event.
      let place = text.bytes.eventSubject.map { services.place(of: $0) }
      let bundle = bundles[place?.owner ?? 0] ?? RequestBundle()
      bundles[place?.owner ?? 0] = bundle
      bundle.append(request.text, to: target, subject: place?.hash ?? 0, partition: place?.partition)
    }
    for (owner, bundle) in bundles { services.receivers[owner].send(.requests(bundle)) }
  }

  private static let isOverloaded = RequestError(
    .overloaded, "too many requests are in flight; try again", details: [.init("retry_after_ms", 100)])

  /// Sends replies to requests of the node's clients.
  func answer(_ replies: ReplyBundle) {
    replies.forEach { bytes, target in
      services.inFlight.wrappingSubtract(1, ordering: .relaxed)
      guard target.slot == number else { return }  // its node has joined again meanwhile
      unanswered -= 1
      channel.send(reply: bytes, to: target.connection, in: .clientReplies)
    }
  }
}
