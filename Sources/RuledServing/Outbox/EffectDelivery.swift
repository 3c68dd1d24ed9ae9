import RuledCore
import RuledDelivery
import RuledEngine
import RuledIO
import RuledWire

/// Delivers effects: by requests that plugins' handlers make, into files, and to the log; confined to the outbox's thread.
final class EffectDelivery: OutboxPart {
  /// An effect that waits for its handler or for its receiver.
  struct Delivery {
    let sink: Sink
    let queue: DeliveryQueue
    let subject: SubjectEffects
    let key: EffectKey
    let effect: StoredEffect
    /// The id with which the effect leaves.
    let id: String
    /// The lease that waits for it; nil if the outbox delivers it itself.
    let lease: LeaseRequest?

    /// How often the effect was tried before.
    var tries: Int { (effect.mark?.tries ?? 0) + subject.tries }
  }

  /// Sends requests; nil if a courier does.
  private let deliverer: Deliverer?
  var isStopping = false
  private var deliveries: [UInt64: Delivery] = [:]
  private var lastNumber: UInt64 = 0

  init(_ part: OutboxPart, _ deliverer: Deliverer?) {
    self.deliverer = deliverer
    super.init(sharing: part)
  }

  func deliver(_ sink: Sink, now: UInt64) {
    switch sink.target {
    case .none, .lease: break
    case .url:
      // As many deliveries begin as may be under way.
      while !isStopping, deliverer != nil, sink.busySubjects.count < Sink.maximumRequests,
        let (queue, subject) = sink.next(now: now)
      {
        begin(subject, of: queue, sink, for: nil, now: now)
      }
    case .file(let file): writeLines(sink, chunkBytes: 1 << 20, now: now) { append($0, of: sink, to: file) }
    case .log: writeLines(sink, chunkBytes: 64 << 10, now: now) { writeToLog($0, of: sink) }
    }
  }

  // MARK: Handlers

  /// Has the handler called for a subject's first effect; false when the effect can't be delivered now.
  @discardableResult
  func begin(
    _ subject: SubjectEffects, of queue: DeliveryQueue, _ sink: Sink, for lease: LeaseRequest?, now: UInt64
  ) -> Bool {
    queue.start(subject)
    let key = EffectKey(subject: subject.subject, sequence: subject.first)
    switch store.fetch(key) {
    case .found(let effect):
      sink.unreadable.remove(key)
      if let leaving = store.leaving(effect, anonymously: sinks.isAnonymous(sink)) {
        callHandler(
          Delivery(sink: sink, queue: queue, subject: subject, key: key, effect: effect, id: leaving.id, lease: lease),
          text: leaving.text)
        return true
      }
      delay(subject, of: queue, now: now)
    case .gone:
      sink.unreadable.remove(key)
      sink.ended(key)
      queue.completeFirst(of: subject)
    case .unreadable:
      sink.unreadable.insert(key)
      delay(subject, of: queue, now: now)
    }
    return false
  }

  /// Lets a subject's first effect be tried again, and the later ones wait for it.
  private func delay(_ subject: SubjectEffects, of queue: DeliveryQueue, now: UInt64) {
    subject.tries += 1
    queue.retryFirst(of: subject, at: now + settings.backoff.delay(after: subject.tries))
  }

  private func callHandler(_ delivery: Delivery, text: [UInt8]) {
    delivery.sink.busySubjects.insert(delivery.key.subject)
    lastNumber += 1
    let number = lastNumber
    deliveries[number] = delivery
    let mailbox = services.outbox.mailbox
    let (plugin, sink, subject) = (delivery.effect.plugin, delivery.sink.name, delivery.key.subject)
    services.workers[services.worker(for: subject)].send(
      .evaluate { evaluator in
        mailbox.send(
          .handlerAnswered(number, evaluator.callSinkHandler(text, of: subject, plugin: plugin, sink: sink), text: text)
        )
      })
  }

  /// The delivery of that number, whose handler has ended.
  func take(_ number: UInt64) -> Delivery? { deliveries.removeValue(forKey: number) }

  /// Continues a delivery whose handler has answered; `text` is the effect's.
  func proceed(_ delivery: Delivery, with answer: HandlerAnswer, text: [UInt8]) {
    guard !isStopping, !endTry(of: delivery, with: answer) else { return }
    guard case .url(let receiver) = delivery.sink.target, let deliverer else { return }
    var request = HandlerRequest(body: text)
    if case .request(let made) = answer { request = made }
    deliverer.send(request, id: delivery.id, to: receiver) { [unowned self] in finish(delivery, $0) }
  }

  /// Ends the try if the handler wants no delivery, or has failed; false if the effect is to be delivered.
  func endTry(of delivery: Delivery, with answer: HandlerAnswer) -> Bool {
    switch answer {
    case .none, .request: return false
    case .expired(let reason):
      delivery.sink.figures.countExpired()
      log(.info, "an effect expired", reason, delivery)
      store.remove(delivery.key, of: delivery.sink)
      complete(delivery)
    case .failed(let reason):
      log(.warn, "a sink handler failed, the effect waits", reason, delivery)
      delivery.sink.figures.note(success: false)
      retry(delivery, DeliveryFailure(reason: "the plugin's sink handler failed: \(reason)"))
    case .absent:
      let reason = "the plugin is not loaded"
      if delivery.subject.tries == 0 { log(.warn, "an effect waits", reason, delivery) }
      retry(delivery, DeliveryFailure(reason: reason))
    }
    return true
  }

  // MARK: Results

  func finish(_ delivery: Delivery, _ result: DeliveryResult) {
    let (sink, queue) = (delivery.sink, delivery.queue)
    switch result {
    case .delivered:
      sink.figures.countDelivered()
      sink.figures.note(success: true)
      queue.noteSuccess()
      store.remove(delivery.key, of: sink)
      complete(delivery)
    case .failed(let failure, let wait, let pause):
      log(.warn, "an effect could not be delivered, it is tried again", failure.reason, delivery)
      sink.figures.note(success: false)
      queue.noteFailure(now: loop.now, settings.backoff, atLeast: wait, pausesAtOnce: pause == .atOnce)
      retry(delivery, failure, atLeast: wait)
    case .givenUp(let failure):
      sink.figures.note(success: false)
      giveUp(delivery, failure)
    }
  }

  /// Ends a delivery for good: the subject's next effect follows.
  private func complete(_ delivery: Delivery) {
    delivery.sink.busySubjects.remove(delivery.key.subject)
    delivery.queue.completeFirst(of: delivery.subject)
  }

  /// Lets an effect be tried again, after a delay of `minimum` milliseconds or more.
  private func retry(_ delivery: Delivery, _ failure: DeliveryFailure, atLeast minimum: UInt64 = 0) {
    delivery.sink.figures.countRetried()
    delivery.sink.busySubjects.remove(delivery.key.subject)
    delivery.subject.tries += 1
    delivery.subject.failure = failure
    let delay = max(settings.backoff.delay(after: delivery.subject.tries), minimum)
    delivery.queue.retryFirst(of: delivery.subject, at: loop.now + delay)
  }

  /// Leaves an effect in the store, marked as given up, until a client asks for another try, or the next start or reload.
  private func giveUp(_ delivery: Delivery, _ failure: DeliveryFailure) {
    let (key, name, mailbox) = (delivery.key, delivery.sink.name, services.outbox.mailbox)
    let text: [UInt8]
    switch store.fetch(key) {
    case .found(let effect): text = store.emitted(effect)
    case .gone:
      delivery.sink.ended(key)
      return complete(delivery)
    case .unreadable: return retry(delivery, failure)
    }
    delivery.sink.figures.countFailed()
    log(.error, "an effect was given up, 'rulectl effects resend' tries it again", failure.reason, delivery)
    let mark = StoredEffect.Mark(
      at: EngineClock.wall.rfc3339, tries: (delivery.effect.mark?.tries ?? 0) + delivery.subject.tries + 1,
      failure: failure, after: services.context.nextSequence())
    let marked = StoredEffect.marked(text, mark)
    delivery.sink.completed.insert(key)
    delivery.sink.ended(key)
    delivery.sink.givenUp += 1
    let ended = Cascade { mailbox.send(.markingEnded(key, sink: name)) }
    services.workers[services.worker(for: key.subject)].send(
      .evaluate { evaluator in
        do throws(RequestError) { _ = try evaluator.replace(key, with: marked) } catch {
          evaluator.context.log.write(
            LogLine(
              .warn, "an effect that was given up could not be marked, it is tried again: \(error.message)",
              subjectHash: LogLine.hash(of: key.subject)))
        }
        evaluator.batch.awaited.append(ended)
      })
    complete(delivery)
  }

  // MARK: Files and the log

  /// An effect that leaves as a line of a file or of the log.
  private struct Line {
    let key: EffectKey
    let effect: StoredEffect
    /// The id and the text with which it leaves.
    let leaving: (id: String, text: [UInt8])
  }

  /// Writes the due effects, about `chunkBytes` at a time; they leave the store once `write` has them out, which otherwise returns the reason.
  private func writeLines(_ sink: Sink, chunkBytes: Int, now: UInt64, _ write: ([Line]) -> String?) {
    for queue in sink.queues {
      var keys = queue.due(now: now)[...]
      while !keys.isEmpty {
        let chunk = readChunk(&keys, sink, queue, bytes: chunkBytes, now: now)
        let lines = chunk.compactMap(\.line)
        if !lines.isEmpty, let reason = write(lines) {
          fail(sink, queue, reason, now: now)
          for subject in Set(lines.map(\.key.subject)) { queue.effects(of: subject)?.tries += 1 }
          break
        }
        queue.noteSuccess()
        if !chunk.isEmpty { sink.figures.note(success: true) }
        for (key, line) in chunk {
          queue.complete(key)
          sink.ended(key)
          if line != nil { store.remove(key, of: sink) }
        }
        sink.figures.countDelivered(lines.count)
      }
    }
  }

  /// Reads the next effects; returns their keys, including keys that are no longer in the store and have no line.
  private func readChunk(
    _ keys: inout ArraySlice<EffectKey>, _ sink: Sink, _ queue: DeliveryQueue, bytes: Int, now: UInt64
  ) -> [(key: EffectKey, line: Line?)] {
    var chunk: [(key: EffectKey, line: Line?)] = []
    var count = 0
    let isAnonymous = sinks.isAnonymous(sink)
    while count < bytes, let key = keys.popFirst() {
      guard !queue.isPostponed(key) else { continue }
      switch store.fetch(key) {
      case .found(let effect):
        sink.unreadable.remove(key)
        guard let leaving = store.leaving(effect, anonymously: isAnonymous) else {
          queue.postpone(key) { now + settings.backoff.delay(after: $0) }
          continue
        }
        count += leaving.text.count
        chunk.append((key, Line(key: key, effect: effect, leaving: leaving)))
      case .gone:
        sink.unreadable.remove(key)
        chunk.append((key, nil))
      case .unreadable: postpone(key, of: sink, queue, now: now)
      }
    }
    return chunk
  }

  private func append(_ lines: [Line], of sink: Sink, to file: SinkFile) -> String? {
    let buffer = ByteBuffer(capacity: 4096)
    for line in lines {
      line.leaving.text.withView { buffer.append($0) }
      buffer.append(UInt8(ascii: "\n"))
    }
    do throws(SystemError) { try file.append(buffer) } catch {
      services.log.error("the effects of the sink '\(sink.name)' can't be written, they wait: \(error)")
      return "the file can't be written: \(error)"
    }
    return nil
  }

  /// How long the log may take before effects wait for it, in milliseconds.
  private static let logPatience = 100

  /// Writes lines without the effects' data to the log, once those before them are out.
  private func writeToLog(_ lines: [Line], of sink: Sink) -> String? {
    let isAnonymous = sinks.isAnonymous(sink)
    let dropped = services.log.dropped
    if services.log.flush(within: Self.logPatience) {
      for line in lines {
        services.log.write(
          LogLine(
            .info, "effect", plugin: line.effect.plugin,
            subjectHash: isAnonymous ? nil : LogLine.hash(of: line.key.subject),
            fields: Self.logFields(line.effect, id: line.leaving.id)))
      }
      if services.log.flush(within: Self.logPatience), services.log.dropped == dropped { return nil }
    }
    return "the log can't be written"
  }

  /// Lets the effects of a queue wait, which can't be written for this reason.
  private func fail(_ sink: Sink, _ queue: DeliveryQueue, _ reason: String, now: UInt64) {
    sink.figures.countRetried()
    queue.noteFailure(now: now, settings.backoff, pausesAtOnce: true)
    queue.failure = DeliveryFailure(reason: reason)
    sink.figures.note(success: false)
  }

  /// Lets an effect that can't be read wait, and the later ones of its subject with it.
  private func postpone(_ key: EffectKey, of sink: Sink, _ queue: DeliveryQueue, now: UInt64) {
    sink.unreadable.insert(key)
    queue.postpone(key) { now + settings.backoff.delay(after: $0) }
  }

  /// Writes a line on an effect to the log, at most one a minute for each sink and `message`; `reason` ends it.
  private func log(_ level: LogLine.Level, _ message: String, _ reason: String, _ delivery: Delivery) {
    services.log.write(
      LogLine(
        level, "\(message): \(reason)", plugin: delivery.effect.plugin,
        subjectHash: LogLine.hash(of: delivery.key.subject),
        fields: Self.logFields(delivery.effect, id: delivery.effect.id)),
      limitedBy: "\(message), sink \(delivery.sink.name)")
  }

  private static func logFields(_ effect: StoredEffect, id: String) -> String {
    JSONValue.object(["sink": .string(effect.sink), "type": .string(effect.type), "effect_id": .string(id)]).text
  }
}

extension Evaluator {
  fileprivate func callSinkHandler(_ effect: [UInt8], of subject: [UInt8], plugin: String, sink: String)
    -> HandlerAnswer
  {
    let evaluator = deciding(for: subject)
    guard evaluator.catalog.index(of: plugin) != nil else { return .absent }
    let bytes = ByteBuffer(capacity: effect.count)
    effect.withView { bytes.append($0) }
    do throws(Failure) {
      guard let answer = try evaluator.sink(sink, plugin: plugin, effect: bytes.bytes) else { return .none }
      return HandlerAnswer(answer)
    } catch { return .failed("\(error.kind)" + (error.file.map { file in " at \(file):\(error.line ?? 0)" } ?? "")) }
  }
}
