import RuledCore
import RuledDelivery
import RuledIO
import RuledWire

/// Hands effects out to clients that deliver them, and takes the results; confined to the outbox's thread.
///
/// A leased effect is under way like one that the outbox delivers itself: no other client gets it, and the later ones of its subject wait. A
/// lease without a confirmation in time ends, and the effect is tried again.
final class EffectLeases: OutboxPart {
  /// How often the ends of leases and of waits are checked, in milliseconds.
  private static let checkPeriod: UInt64 = 500

  private let deliveries: EffectDelivery
  private var timer: LoopTimer?
  /// The leases by name, and when each ends, in the loop's milliseconds.
  private var active: [String: (delivery: EffectDelivery.Delivery, end: UInt64)] = [:]
  /// The requests that wait for a first effect, in their order.
  private var waiting: [LeaseRequest] = []
  private var hasEndedWaits = false

  init(_ deliveries: EffectDelivery) {
    self.deliveries = deliveries
    super.init(sharing: deliveries)
  }

  /// Has leases end; called once, before any is given.
  func begin() throws(SystemError) { timer = try LoopTimer(on: loop) { [unowned self] in checkEnds() } }

  func isAwaited(_ sink: String) -> Bool { waiting.contains { $0.params.sinks.contains(sink) } }

  // MARK: Leasing

  /// Replies with effects, at once or when there are some.
  func lease(_ params: LeaseParams, for caller: ControlCaller) {
    for (index, name) in params.sinks.enumerated() {
      guard let sink = sinks[name], sinks.isLeased(sink) else {
        let path = params.sinks.count == 1 ? "params.sink" : "params.sinks[\(index)]"
        return services.reply(.failure(.invalidParams(path: path, Self.notLeased(name, sinks[name]))), to: caller)
      }
      sink.figures.note(unleased: false)
    }
    guard !deliveries.isStopping else {
      return services.reply(.failure(RequestError(.unavailable, "the daemon is shutting down")), to: caller)
    }
    collect(for: LeaseRequest(params, caller, waitEnd: loop.now + UInt64(params.wait) * 1_000))
  }

  private static func notLeased(_ name: String, _ sink: Sink?) -> String {
    switch sink?.target {
    case .url:
      "the daemon delivers the effects of '\(name)' itself; they are leased with delivery = \"courier\" in the configuration"
    case .some(.file), .some(.log): "the daemon delivers the effects of '\(name)' itself"
    default: "the effects of '\(name)' are not leased; configure sinks.\(name) = { lease = true }"
    }
  }

  /// Collects effects for a request: their handlers are called, and `handlerEnded` goes on.
  private func collect(for request: LeaseRequest) {
    for name in request.params.sinks where !services.areEffectsHeld {
      guard let sink = sinks[name], sinks.isLeased(sink) else { continue }
      while !services.areEffectsHeld, request.hasRoom, let (queue, subject) = sink.next(now: loop.now) {
        guard deliveries.begin(subject, of: queue, sink, for: request, now: loop.now) else { continue }
        request.pending += 1
        request.bytes += store.value.count
      }
    }
    if request.pending == 0 { replyOrWait(request) }
  }

  /// Continues a delivery for a lease whose handler has answered; `text` is the effect's.
  func proceed(_ delivery: EffectDelivery.Delivery, of lease: LeaseRequest, with answer: HandlerAnswer, text: [UInt8]) {
    if !deliveries.isStopping, !deliveries.endTry(of: delivery, with: answer) {
      let made: HandlerRequest? = if case .request(let request) = answer { request } else { nil }
      grant(delivery, to: lease, made, text: text)
    }
    handlerEnded(for: lease)
  }

  /// Continues a lease once the handler of one of its effects has ended.
  private func handlerEnded(for request: LeaseRequest) {
    request.pending -= 1
    guard request.pending == 0 else { return }
    if request.granted.isEmpty, !deliveries.isStopping { collect(for: request) } else { replyOrWait(request) }
  }

  private func replyOrWait(_ request: LeaseRequest) {
    if request.granted.isEmpty, loop.now < request.waitEnd, !hasEndedWaits {
      waiting.append(request)
      startTimer()
      return
    }
    services.reply(.success(.object(["leases": .array(request.granted)])), to: request.caller)
  }

  /// Adds an effect to a lease, with the request that its handler has made.
  private func grant(
    _ delivery: EffectDelivery.Delivery, to lease: LeaseRequest, _ made: HandlerRequest?, text: [UInt8]
  ) {
    let name = UUIDText.random().text
    active[name] = (delivery, loop.now + UInt64(lease.params.seconds) * 1_000)
    delivery.sink.leasedCount += 1
    startTimer()
    let effect = text.withView { try? JSONValue(parsing: $0) }
    lease.granted.append(
      .members([
        "lease": .string(name), "tries": .integer(Int64(delivery.tries)), "effect": effect ?? .null,
        "request": made?.json,
      ]))
  }

  /// Ends leases with the results of their effects, and replies once these are committed.
  func confirm(_ params: ConfirmParams, for caller: ControlCaller) {
    var unknown: [JSONValue] = []
    for result in params.results {
      guard let lease = active.removeValue(forKey: result.lease) else {
        unknown.append(.string(result.lease))
        continue
      }
      lease.delivery.sink.leasedCount -= 1
      deliveries.finish(lease.delivery, result.outcome)
    }
    store.commitRemovals(now: loop.now)
    services.reply(
      .success(
        .object([
          "confirmed": .integer(Int64(params.results.count - unknown.count)), "unknown": .array(unknown),
        ])), to: caller)
  }

  // MARK: Time

  func serveWaits() {
    guard !waiting.isEmpty else { return }
    let requests = waiting
    waiting = []
    for request in requests { collect(for: request) }
  }

  func endWaits() {
    hasEndedWaits = true
    serveWaits()
  }

  func endWaits(of connection: UInt64, at receiver: ReplyTarget.Receiver) {
    let requests = waiting
    waiting = []
    for request in requests {
      if request.caller.target.connection == connection, request.caller.target.receiver == receiver {
        request.waitEnd = 0
        replyOrWait(request)
      } else {
        waiting.append(request)
      }
    }
  }

  private func startTimer() {
    if let timer, !timer.isRunning { timer.start(after: Self.checkPeriod, every: Self.checkPeriod) }
  }

  /// Ends the leases whose time is over; the waits end in the tick that follows.
  private func checkEnds() {
    let now = loop.now
    for (name, lease) in active where lease.end <= now {
      active[name] = nil
      lease.delivery.sink.leasedCount -= 1
      deliveries.finish(
        lease.delivery,
        .failed(DeliveryFailure(reason: "the lease ended without a confirmation"), atLeast: 0, .afterSeveral))
    }
    if active.isEmpty, waiting.isEmpty { timer?.stop() }
  }
}

final class LeaseRequest {
  let params: LeaseParams
  let caller: ControlCaller
  /// Until when the reply may wait for a first effect, in the loop's milliseconds.
  var waitEnd: UInt64
  var granted: [JSONValue] = []
  /// The number of handlers that have yet to end.
  var pending = 0
  var bytes = 0

  init(_ params: LeaseParams, _ caller: ControlCaller, waitEnd: UInt64) {
    self.params = params
    self.caller = caller
    self.waitEnd = waitEnd
  }

  var hasRoom: Bool { granted.count + pending < params.limit && bytes < Limits.leaseBytes }
}
