import RuledCore
import RuledEngine

/// Sinks that post: the plugin's handler makes the request on the worker whose subject it is, and the answer decides.
extension OutboxService {
  /// Begins as many deliveries as may be under way.
  func post(_ sink: Sink, _ now: UInt64) {
    while sink.busy.count < Sink.requests, let (lane, queue) = sink.next(now: now) {
      lane.begin(queue)
      let key = EffectKey(subject: queue.subject, sequence: queue.first)
      let effect: StoredEffect
      switch fetch(key) {
      case .found(let found):
        effect = found
        sink.unreadable.remove(key)
      case .gone:
        sink.unreadable.remove(key)
        lane.finished(queue)
        continue
      case .unreadable:
        sink.unreadable.insert(key)
        queue.tries += 1
        lane.retry(queue, at: now + settings.backoff.delay(after: queue.tries))
        continue
      }
      sink.busy.insert(queue.subject)
      let text = effect.emitted(value.bytes)
      let number = depart(Flight(sink: sink, lane: lane, queue: queue, key: key, effect: effect, text: text))
      let mailbox = services.outbox.mailbox
      let (plugin, name) = (effect.plugin, sink.name)
      services.workers[services.owner(of: queue.subject)].send(
        .perform { worker in mailbox.send(.handled(number, worker.handle(text, plugin: plugin, sink: name))) })
    }
  }

  /// The handler has answered.
  func handled(_ flight: Flight, _ answer: HandlerAnswer) {
    guard !isStopping else { return }
    switch answer {
    case .none: send(HandlerRequest(body: flight.text), flight)
    case .request(let request): send(request, flight)
    case .expired(let why):
      flight.sink.figures.countExpired()
      log(.info, "an effect expired: \(why)", flight)
      remove(flight.key, of: flight.sink)
      settle(flight)
    case .failed(let why):
      log(.warn, "a sink handler failed, the effect waits: \(why)", flight)
      again(flight)
    case .absent:
      if flight.queue.tries == 0 { log(.warn, "the plugin of an effect is not loaded, the effect waits", flight) }
      again(flight)
    }
  }

  private func send(_ asked: HandlerRequest, _ flight: Flight) {
    guard case .url(let configured, let secret) = flight.sink.target else { return }
    var request = HTTPRequest(url: asked.url ?? configured, method: asked.method, body: asked.body)
    guard let origin = URLOrigin(request.url) else {
      return giveUp(flight, "the URL is neither http nor https")
    }
    let own = [
      "authorization", "idempotency-key", "host", "content-length", "transfer-encoding", "connection", "expect",
    ]
    let allowed = secret == nil ? Array(own.dropFirst()) : own
    request.headers = asked.headers.filter { !allowed.contains($0.name.lowercased()) }
    if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
      request.headers.append(("Content-Type", "application/json"))
    }
    request.headers.append(("Idempotency-Key", Self.headerText(flight.effect.id)))
    if let secret {
      if secret.authorization == nil, !read(secret, of: flight.sink) {
        flight.lane.failed(now: loop.now, settings.backoff, atOnce: true)
        return again(flight)
      }
      if origin == URLOrigin(configured), let authorization = secret.authorization {
        request.headers.append(("Authorization", authorization))
      }
    }
    client.send(request, timeout: settings.timeout) { [unowned self] in ended(flight, $0) }
  }

  /// An effect's id as a header's value: what is not visible ASCII is percent-encoded.
  private static func headerText(_ id: String) -> String {
    let buffer = ByteBuffer(capacity: id.utf8.count)
    for byte in id.utf8 {
      if (0x21...0x7E).contains(byte) {
        buffer.append(byte)
      } else {
        buffer.append(UInt8(ascii: "%"))
        buffer.append(hexDigit: byte >> 4)
        buffer.append(hexDigit: byte & 15)
      }
    }
    return buffer.text
  }

  // MARK: Answers

  private func ended(_ flight: Flight, _ result: HTTPResult) {
    switch result {
    case .answered(200..<300, _):
      flight.sink.figures.countDelivered()
      flight.lane.succeeded()
      remove(flight.key, of: flight.sink)
      settle(flight)
    case .answered(let status, let wait):
      answered(flight, status, milliseconds: UInt64(min(max(wait, 0), 3_600)) * 1_000)
    case .failed(let why):
      log(.warn, "an effect could not be delivered, it is tried again: \(why)", flight)
      flight.lane.failed(now: loop.now, settings.backoff, atOnce: true)
      again(flight)
    case .refused(let why): giveUp(flight, why)
    }
  }

  private func answered(_ flight: Flight, _ status: Int, milliseconds wait: UInt64) {
    switch status {
    case 401, 403:
      guard case .url(_, let secret?) = flight.sink.target else {
        return giveUp(flight, "the receiver answered \(status)")
      }
      let old = secret.authorization
      if read(secret, of: flight.sink), secret.authorization != old {
        log(.info, "the receiver answered \(status), and the secret has changed: the effect is tried again", flight)
        return again(flight, at: loop.now)
      }
      log(
        .error, "the receiver answered \(status): effects wait until the secret in \(secret.path) is accepted", flight)
      flight.lane.failed(now: loop.now, settings.backoff, atOnce: true)
      again(flight)
    case 408, 425, 429, 500...599:
      log(.warn, "the receiver answered \(status), the effect is tried again", flight)
      flight.lane.failed(now: loop.now, settings.backoff, atLeast: wait, atOnce: status == 429 || status == 503)
      again(flight, atLeast: wait)
    default: giveUp(flight, "the receiver answered \(status)")
    }
  }

  /// Lets the next effect of the subject have its turn.
  private func settle(_ flight: Flight) {
    flight.sink.busy.remove(flight.key.subject)
    flight.lane.finished(flight.queue)
  }

  /// Tries the effect again, later.
  private func again(_ flight: Flight, at time: UInt64? = nil, atLeast wait: UInt64 = 0) {
    flight.sink.figures.countRetried()
    flight.sink.busy.remove(flight.key.subject)
    flight.queue.tries += 1
    let delay = max(settings.backoff.delay(after: flight.queue.tries), wait)
    flight.lane.retry(flight.queue, at: time ?? loop.now + delay)
  }

  /// Leaves the effect in the store, marked as failed, until the next start or reload.
  private func giveUp(_ flight: Flight, _ why: String) {
    flight.sink.figures.countFailed()
    log(.error, "an effect was given up, the next start or reload tries it again: \(why)", flight)
    let text = StoredEffect.givenUp(
      flight.text, at: EngineClock.wall, tries: flight.queue.tries + 1, why: why, after: services.context.nextSequence()
    )
    let (key, name, mailbox) = (flight.key, flight.sink.name, services.outbox.mailbox)
    flight.sink.settled.insert(key)
    let marked = Cascade { mailbox.send(.marked(key, sink: name)) }
    services.workers[services.owner(of: key.subject)].send(
      .perform { worker in
        do throws(RequestError) { _ = try worker.evaluator.replace(key, with: text) } catch {
          worker.services.context.log.write(
            LogLine(
              .warn, "an effect that was given up could not be marked, it is tried again: \(error.message)",
              subjectHash: OutboxService.hash(key.subject)))
        }
        worker.evaluator.batch.awaited.append(marked)
      })
    settle(flight)
  }
}
