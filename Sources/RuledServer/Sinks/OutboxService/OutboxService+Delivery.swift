import RuledCore
import RuledEngine

/// Sinks with a URL: the plugin's handler makes the request, on the worker that owns the subject, and the receiver's answer decides.
extension OutboxService {
  /// Header fields that the daemon sets itself, in lower case; `authorization` only where the sink has a secret.
  private static let reservedHeaders: Set<String> = [
    "authorization", "idempotency-key", "host", "content-length", "transfer-encoding", "connection", "expect",
  ]

  /// Begins as many deliveries as may be under way.
  func post(_ sink: Sink, now: UInt64) {
    while sink.busySubjects.count < Sink.maximumRequests, let (queue, subject) = sink.next(now: now) {
      queue.start(subject)
      let key = EffectKey(subject: subject.subject, sequence: subject.first)
      switch fetch(key) {
      case .found(let effect):
        sink.unreadable.remove(key)
        callHandler(
          Delivery(
            sink: sink, queue: queue, subject: subject, key: key, effect: effect,
            text: effect.emitted(value.bytes, document)))
      case .gone:
        sink.unreadable.remove(key)
        queue.completeFirst(of: subject)
      case .unreadable:
        sink.unreadable.insert(key)
        subject.tries += 1
        queue.retryFirst(of: subject, at: now + settings.backoff.delay(after: subject.tries))
      }
    }
  }

  private func callHandler(_ delivery: Delivery) {
    delivery.sink.busySubjects.insert(delivery.key.subject)
    let number = register(delivery)
    let mailbox = services.outbox.mailbox
    let (text, plugin, sink) = (delivery.text, delivery.effect.plugin, delivery.sink.name)
    services.workers[services.owner(of: delivery.key.subject)].send(
      .perform { worker in
        mailbox.send(.handlerAnswered(number, worker.callSinkHandler(text, plugin: plugin, sink: sink)))
      })
  }

  /// Continues a delivery whose handler has answered.
  func proceed(_ delivery: Delivery, with answer: HandlerAnswer) {
    guard !isStopping else { return }
    switch answer {
    case .none: send(HandlerRequest(body: delivery.text), for: delivery)
    case .request(let request): send(request, for: delivery)
    case .expired(let reason):
      delivery.sink.figures.countExpired()
      log(.info, "an effect expired: \(reason)", delivery)
      remove(delivery.key, of: delivery.sink)
      complete(delivery)
    case .failed(let reason):
      log(.warn, "a sink handler failed, the effect waits: \(reason)", delivery)
      retry(delivery)
    case .absent:
      if delivery.subject.tries == 0 { log(.warn, "the plugin of an effect is not loaded, the effect waits", delivery) }
      retry(delivery)
    }
  }

  private func send(_ asked: HandlerRequest, for delivery: Delivery) {
    guard case .url(let configured, let secret) = delivery.sink.target else { return }
    var request = HTTPRequest(url: asked.url ?? configured, method: asked.method, body: asked.body)
    guard let origin = URLOrigin(request.url) else {
      return giveUp(delivery, "the URL is neither http nor https")
    }
    request.headers = asked.headers.filter { header in
      let name = header.name.lowercased()
      return !Self.reservedHeaders.contains(name) || name == "authorization" && secret == nil
    }
    if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
      request.headers.append(("Content-Type", "application/json"))
    }
    request.headers.append(("Idempotency-Key", Self.headerText(delivery.effect.id)))
    if let secret {
      if secret.authorization == nil, !read(secret, of: delivery.sink) {
        delivery.queue.recordFailure(now: loop.now, settings.backoff, pausesAtOnce: true)
        return retry(delivery)
      }
      if origin == URLOrigin(configured), let authorization = secret.authorization {
        request.headers.append(("Authorization", authorization))
      }
    }
    client.send(request, timeout: settings.timeout) { [unowned self] in finish(delivery, $0) }
  }

  /// An effect's id as a header's value: all but visible ASCII is percent-encoded.
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

  // MARK: Results

  private func finish(_ delivery: Delivery, _ result: HTTPResult) {
    switch result {
    case .answered(200..<300, _):
      delivery.sink.figures.countDelivered()
      delivery.queue.recordSuccess()
      remove(delivery.key, of: delivery.sink)
      complete(delivery)
    case .answered(let status, let seconds):
      finish(delivery, status: status, retryAfter: UInt64(min(max(seconds, 0), 3_600)) * 1_000)
    case .failed(let reason):
      log(.warn, "an effect could not be delivered, it is tried again: \(reason)", delivery)
      delivery.queue.recordFailure(now: loop.now, settings.backoff, pausesAtOnce: true)
      retry(delivery)
    case .refused(let reason): giveUp(delivery, reason)
    }
  }

  /// Handles an answer without success; `wait` is the wait in milliseconds that it asks for.
  private func finish(_ delivery: Delivery, status: Int, retryAfter wait: UInt64) {
    switch status {
    case 401, 403:
      guard case .url(_, let secret?) = delivery.sink.target else {
        return giveUp(delivery, "the receiver answered \(status)")
      }
      let old = secret.authorization
      if read(secret, of: delivery.sink), secret.authorization != old {
        log(
          .info, "the receiver answered \(status), and the secret has changed: the effect is tried again", delivery)
        return retry(delivery, at: loop.now)
      }
      log(
        .error, "the receiver answered \(status): effects wait until the secret in \(secret.path) is accepted", delivery
      )
      delivery.queue.recordFailure(now: loop.now, settings.backoff, pausesAtOnce: true)
      retry(delivery)
    case 408, 425, 429, 500...599:
      log(.warn, "the receiver answered \(status), the effect is tried again", delivery)
      delivery.queue.recordFailure(
        now: loop.now, settings.backoff, atLeast: wait, pausesAtOnce: status == 429 || status == 503)
      retry(delivery, atLeast: wait)
    default: giveUp(delivery, "the receiver answered \(status)")
    }
  }

  /// Ends a delivery for good: the subject's next effect follows.
  private func complete(_ delivery: Delivery) {
    delivery.sink.busySubjects.remove(delivery.key.subject)
    delivery.queue.completeFirst(of: delivery.subject)
  }

  /// Lets an effect be tried again: at `time`, or else after a delay of `minimum` milliseconds or more.
  private func retry(_ delivery: Delivery, at time: UInt64? = nil, atLeast minimum: UInt64 = 0) {
    delivery.sink.figures.countRetried()
    delivery.sink.busySubjects.remove(delivery.key.subject)
    delivery.subject.tries += 1
    let delay = max(settings.backoff.delay(after: delivery.subject.tries), minimum)
    delivery.queue.retryFirst(of: delivery.subject, at: time ?? loop.now + delay)
  }

  /// Leaves an effect in the store, marked as given up, until the next start or reload.
  private func giveUp(_ delivery: Delivery, _ reason: String) {
    delivery.sink.figures.countFailed()
    log(.error, "an effect was given up, the next start or reload tries it again: \(reason)", delivery)
    let text = StoredEffect.givenUp(
      delivery.text, at: EngineClock.wall, tries: delivery.subject.tries + 1, reason: reason,
      after: services.context.nextSequence())
    let (key, name, mailbox) = (delivery.key, delivery.sink.name, services.outbox.mailbox)
    delivery.sink.completed.insert(key)
    let marked = Cascade { mailbox.send(.markingEnded(key, sink: name)) }
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
    complete(delivery)
  }
}

/// Sinks that take many effects at a time: a file of JSON lines, and the log.
extension OutboxService {
  /// How many bytes of lines are written and synced together, about.
  private static let chunkBytes = 1 << 20

  /// Appends the effects that are due to the sink's file; they leave the store once they are synced.
  func append(_ sink: Sink, to file: SinkFile, now: UInt64) {
    for queue in sink.queues {
      var keys = queue.due(now: now)[...]
      let lines = ByteBuffer(capacity: keys.isEmpty ? 0 : 4096)
      while !keys.isEmpty {
        let chunk = readChunk(&keys, sink, queue, into: lines, now: now)
        do throws(SystemError) {
          if lines.count > 0 { try file.append(lines) }
        } catch {
          sink.figures.countRetried()
          log(.error, "the effects of the sink '\(sink.name)' can't be written, they wait: \(error)")
          queue.recordFailure(now: now, settings.backoff, pausesAtOnce: true)
          break
        }
        queue.recordSuccess()
        for (key, isStored) in chunk {
          queue.complete(key)
          if isStored { remove(key, of: sink) }
        }
        sink.figures.countDelivered(chunk.count { $0.isStored })
      }
    }
  }

  /// Reads the next effects as lines; returns their keys with those that are not in the store any more.
  private func readChunk(
    _ keys: inout ArraySlice<EffectKey>, _ sink: Sink, _ queue: DeliveryQueue, into lines: ByteBuffer, now: UInt64
  ) -> [(key: EffectKey, isStored: Bool)] {
    var chunk: [(key: EffectKey, isStored: Bool)] = []
    lines.removeAll()
    while lines.count < Self.chunkBytes, let key = keys.popFirst() {
      guard !queue.isPostponed(key) else { continue }
      switch fetch(key) {
      case .found(let effect):
        sink.unreadable.remove(key)
        effect.emitted(value.bytes, document).withUnsafeBytes { lines.append($0) }
        lines.append(UInt8(ascii: "\n"))
        chunk.append((key, true))
      case .gone:
        sink.unreadable.remove(key)
        chunk.append((key, false))
      case .unreadable: postpone(key, of: sink, queue, now: now)
      }
    }
    return chunk
  }

  /// Writes the effects that are due to the log, without their data.
  func writeToLog(_ sink: Sink, now: UInt64) {
    for queue in sink.queues {
      for key in queue.due(now: now) where !queue.isPostponed(key) {
        switch fetch(key) {
        case .unreadable:
          postpone(key, of: sink, queue, now: now)
          continue
        case .gone: break
        case .found(let effect):
          services.context.log.write(
            LogLine(
              .info, "effect", plugin: effect.plugin, subjectHash: Self.hash(key.subject),
              fields: Self.logFields(effect)))
          sink.figures.countDelivered()
          remove(key, of: sink)
        }
        sink.unreadable.remove(key)
        queue.complete(key)
      }
    }
  }

  /// Lets an effect that can't be read wait, and the later ones of its subject with it.
  private func postpone(_ key: EffectKey, of sink: Sink, _ queue: DeliveryQueue, now: UInt64) {
    sink.unreadable.insert(key)
    queue.postpone(key) { now + settings.backoff.delay(after: $0) }
  }
}
