import RuledCore
import RuledDelivery
import RuledEngine
import RuledWire

/// Hands effects out to those who deliver them, and takes what came of it.
///
/// A leased effect is under way like one that the outbox delivers itself: nobody else gets it, and the later ones of its subject wait. A lease
/// that is not confirmed in time ends, and the effect is tried again.
extension OutboxService {
  /// The leases, and those who wait for some.
  struct Leases {
    /// An effect that was handed out.
    struct Lease {
      let delivery: Delivery
      /// When the lease ends, in the loop's milliseconds.
      let end: UInt64
    }

    /// The leases by their names.
    var active: [String: Lease] = [:]
    /// The requests that wait for a first effect, in their order.
    var waiting: [LeaseRequest] = []
    /// Whether nobody may wait any longer.
    var hasEndedWaits = false
    /// Whether the timer runs.
    var isTimed = false

    /// Whether a request waits for effects of a sink.
    func isAwaited(_ sink: String) -> Bool { waiting.contains { $0.params.sinks.contains(sink) } }
  }

  /// How often the ends of leases and of waits are checked, in milliseconds.
  private static let checkPeriod: UInt64 = 500

  /// Whether a sink's effects are handed out.
  func isLeased(_ sink: Sink) -> Bool {
    switch sink.target {
    case .lease: true
    case .url: deliverer == nil
    case .none, .file, .log: false
    }
  }

  // MARK: Leasing

  /// Replies with effects, at once or when there are some.
  func lease(_ params: LeaseParams, for caller: ControlCaller) {
    for (index, name) in params.sinks.enumerated() {
      guard let sink = sinks[name], isLeased(sink) else {
        let path = params.sinks.count == 1 ? "params.sink" : "params.sinks[\(index)]"
        return reply(.failure(.invalidParams(path: path, Self.notLeased(name, sinks[name]))), to: caller)
      }
      sink.figures.note(unleased: false)
    }
    guard !isStopping else {
      return reply(.failure(RequestError(.unavailable, "the daemon is shutting down")), to: caller)
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
    for name in request.params.sinks where !isHeld {
      guard let sink = sinks[name], isLeased(sink) else { continue }
      while !isHeld, request.hasRoom, let (queue, subject) = sink.next(now: loop.now) {
        guard begin(subject, of: queue, sink, for: request, now: loop.now) else { continue }
        request.pending += 1
        request.bytes += value.count
      }
    }
    if request.pending == 0 { replyOrWait(request) }
  }

  /// Continues a lease once the handler of one of its effects has ended.
  func handlerEnded(for request: LeaseRequest) {
    request.pending -= 1
    guard request.pending == 0 else { return }
    if request.granted.isEmpty, !isStopping { collect(for: request) } else { replyOrWait(request) }
  }

  /// Replies to a request, or lets it wait.
  private func replyOrWait(_ request: LeaseRequest) {
    if request.granted.isEmpty, loop.now < request.waitEnd, !leases.hasEndedWaits {
      leases.waiting.append(request)
      startTimer()
      return
    }
    reply(.success(.object(["leases": .array(request.granted)])), to: request.caller)
  }

  /// Adds an effect to a lease, with the request that its handler has made.
  func grant(_ delivery: Delivery, to lease: LeaseRequest, _ made: HandlerRequest?, text: [UInt8]) {
    let name = UUIDText.random(.random(in: 0...UInt64.max), .random(in: 0...UInt64.max)).text
    let end = loop.now + UInt64(lease.params.seconds) * 1_000
    leases.active[name] = Leases.Lease(delivery: delivery, end: end)
    delivery.sink.leasedCount += 1
    startTimer()
    let effect = text.withView { try? JSONValue(parsing: $0, maximumDepth: Limits.jsonDepth + 1) }
    var object: JSONObject = [
      "lease": .string(name), "tries": .integer(Int64(delivery.tries)), "effect": effect ?? .null,
    ]
    if let made { object["request"] = made.json }
    lease.granted.append(.object(object))
  }

  // MARK: Confirming

  /// Ends leases with what came of their effects, and replies once that is committed.
  func confirm(_ params: ConfirmParams, for caller: ControlCaller) {
    var unknown: [JSONValue] = []
    for result in params.results {
      guard let lease = leases.active.removeValue(forKey: result.lease) else {
        unknown.append(.string(result.lease))
        continue
      }
      lease.delivery.sink.leasedCount -= 1
      finish(lease.delivery, DeliveryResult(result.outcome))
    }
    commitRemovals(now: loop.now)
    reply(
      .success(
        .object([
          "confirmed": .integer(Int64(params.results.count - unknown.count)), "unknown": .array(unknown),
        ])), to: caller)
  }

  // MARK: Time

  /// Serves requests that wait, with effects that have come.
  func serveWaits() {
    guard !leases.waiting.isEmpty else { return }
    let waiting = leases.waiting
    leases.waiting = []
    for request in waiting { collect(for: request) }
  }

  /// Answers all requests that wait.
  func endWaits() {
    leases.hasEndedWaits = true
    serveWaits()
  }

  /// Answers the requests of a connection that wait.
  func endWaits(of connection: UInt64, at receiver: ReplyTarget.Receiver) {
    let waiting = leases.waiting
    leases.waiting = []
    for request in waiting {
      if request.caller.target.connection == connection, request.caller.target.receiver == receiver {
        request.waitEnd = 0
        replyOrWait(request)
      } else {
        leases.waiting.append(request)
      }
    }
  }

  private func startTimer() {
    guard !leases.isTimed else { return }
    leases.isTimed = true
    timers?.leases.start(after: Self.checkPeriod, every: Self.checkPeriod)
  }

  /// Ends the leases whose time is over; the waits end in the tick that follows.
  func checkLeases() {
    let now = loop.now
    for (name, lease) in leases.active where lease.end <= now {
      leases.active[name] = nil
      lease.delivery.sink.leasedCount -= 1
      finish(
        lease.delivery,
        .failed(DeliveryFailure(reason: "the lease ended without a confirmation"), atLeast: 0, .afterSeveral))
    }
    guard leases.active.isEmpty, leases.waiting.isEmpty else { return }
    leases.isTimed = false
    timers?.leases.stop()
  }
}

/// A request for effects to deliver.
final class LeaseRequest {
  /// What is asked for.
  let params: LeaseParams
  /// Who asks.
  let caller: ControlCaller
  /// Until when the reply may wait for a first effect, in the loop's milliseconds.
  var waitEnd: UInt64
  /// What the reply will hold.
  var granted: [JSONValue] = []
  /// How many handlers are still to end.
  var pending = 0
  /// How many bytes the effects have.
  var bytes = 0

  /// A request that has nothing yet.
  init(_ params: LeaseParams, _ caller: ControlCaller, waitEnd: UInt64) {
    self.params = params
    self.caller = caller
    self.waitEnd = waitEnd
  }

  /// Whether another effect has room.
  var hasRoom: Bool { granted.count + pending < params.limit && bytes < Limits.leaseBytes }
}

extension OutboxService.Delivery {
  /// How often the effect was tried before.
  var tries: Int { (effect.mark?.tries ?? 0) + subject.tries }
}
