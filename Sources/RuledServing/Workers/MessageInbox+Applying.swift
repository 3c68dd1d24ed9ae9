import RuledCore
import RuledEngine

/// Applying messages: some in each tick, and later those of a subject whose first message can't be applied for now.
extension MessageInbox {
  /// When `applySome` is to be called again.
  enum Next {
    /// When a message comes.
    case sleep
    /// In the next tick.
    case again
    /// In that many milliseconds.
    case wait(UInt64)
  }

  /// Applies some messages: for up to `busyTime` or `idleTime`.
  func applySome() -> Next {
    guard hasWork else { return .sleep }
    let start = now
    if let endsAt, awaited.isEmpty || start >= endsAt { return .sleep }
    guard pausedUntil <= start else { return Self.wait(from: start, to: pausedUntil) }
    readDelayedAgain(start)
    let (half, end) = (start + timeSlice / 2, start + timeSlice)
    if mayApply { retryParked(until: half) }  // first, as messages may be deferred until it is done
    if window.count <= settings.capacity / 2 { readPages(until: end) }
    while mayApply, let message = express.popFirst() ?? window.popFirst() {
      apply(message)
      if now >= end { break }
    }
    resetCountsIfEmpty()
    if !evaluator.batch.isEmpty || !evaluator.batch.awaited.isEmpty { return .again }
    if pausedUntil > start { return Self.wait(from: start, to: pausedUntil) }
    if window.count > 0 || express.count > 0 || !isWhole || retries != nil { return mayApply ? .again : .sleep }
    let next = [delayed.nextTry, gapsUntil].compactMap { $0 }.min()
    return next.map { Self.wait(from: start, to: $0) } ?? .sleep
  }

  /// How long messages are applied in a tick, in nanoseconds.
  var timeSlice: UInt64 { services.inFlight.load(ordering: .relaxed) > 0 ? settings.busyTime : settings.idleTime }

  private static func wait(from start: UInt64, to end: UInt64) -> Next {
    .wait((max(end, start) - start) / 1_000_000 + 1)
  }

  /// Whether applied messages that are not durable yet leave room for more.
  private var mayApply: Bool {
    uncommitted.count < settings.capacity && evaluator.inFlightCount < Self.batchLimit
      && evaluator.batch.writes.byteCount < Self.batchBytes
  }

  /// The most commit batches in flight while messages join another one.
  private static let batchLimit = 16
  /// A commit batch of this many bytes takes no more messages.
  private static let batchBytes = 4 << 20

  private func apply(_ key: MessageKey) {
    guard !uncommitted.contains(key.sequence), !delayed.contains(key.subject) else { return }
    let message = CommitBatch.Message(
      subject: key.subject, sequence: key.sequence, cascade: awaited[key.sequence])
    do throws(RequestError) {
      switch try evaluator.deliver(message, butOf: deferred) {
      case .applied: uncommitted.insert(key.sequence)
      case .gone: awaited.removeValue(forKey: key.sequence)?.leave()
      case .deferred: return
      }
      if delayed.remove(key.subject) {
        updateDelayedFigure()
        log(.info, "messages of a subject that were held back go on", key.subject)
      }
    } catch { delay(key.subject, error) }
  }

  /// Leaves a subject's messages in the store for a while; messages of other subjects are applied meanwhile.
  private func delay(_ subject: [UInt8], _ error: RequestError) {
    let tries = delayed.delay(subject, from: now, settings.backoff)
    if tries == 1 {
      log(
        .error, "messages of a subject can't be applied and are held back, to be tried again: \(error.message)", subject
      )
    }
    updateDelayedFigure()
    guard delayed.count > settings.delayedLimit else { return }
    delayed.removeAll()
    updateDelayedFigure()
    pauseAfterFailure()
  }

  /// Reads the messages again of subjects whose delay is over, and of gaps.
  private func readDelayedAgain(_ time: UInt64) {
    guard !delayed.isEmpty || !gaps.isEmpty else { return }
    let areGapsDue = gapsUntil.map { $0 <= time } ?? false
    if areGapsDue {
      gaps.removeAll()
      gapsUntil = nil
    }
    let areSubjectsDue = delayed.makeDue(at: time)
    guard areGapsDue || areSubjectsDue else { return }
    switch walk {
    case .notNeeded: walk = .needed(expressFirst: false)
    case .reading(let position, _): walk = .reading(position: position, isDirty: true)
    case .needed, .readingExpress: break
    }
  }
}

/// The subjects whose first message can't be applied for now, and when each is tried again.
///
/// A subject that is due remains here until a message of it is applied, so that its next failure makes it wait for longer. Times are those of
/// the monotonic clock, in nanoseconds.
struct DelayedSubjects {
  /// How often a subject's first message was tried, and when it is tried again; nil once this is due.
  private var delays: [[UInt8]: (tries: Int, until: UInt64?)] = [:]

  var isEmpty: Bool { delays.isEmpty }

  /// The number of subjects, due ones included.
  var count: Int { delays.count }

  /// When the next subject is due; nil if none is delayed, or all are due already.
  var nextTry: UInt64? { delays.values.compactMap(\.until).min() }

  /// Whether a subject's messages wait; false once it is due.
  func contains(_ subject: [UInt8]) -> Bool { !delays.isEmpty && delays[subject]?.until != nil }

  /// Delays a subject after a failure, for longer after each failed try; returns the number of tries.
  mutating func delay(_ subject: [UInt8], from now: UInt64, _ backoff: Backoff) -> Int {
    let tries = (delays[subject]?.tries ?? 0) + 1
    delays[subject] = (tries, now + backoff.delay(after: tries) * 1_000_000)
    return tries
  }

  /// Ends the delays of the subjects that are due at `time`; returns whether there are any.
  mutating func makeDue(at time: UInt64) -> Bool {
    var isAnyDue = false
    for (subject, delay) in delays {
      guard let until = delay.until, until <= time else { continue }
      delays[subject]?.until = nil
      isAnyDue = true
    }
    return isAnyDue
  }

  mutating func remove(_ subject: [UInt8]) -> Bool { !delays.isEmpty && delays.removeValue(forKey: subject) != nil }

  mutating func removeDue() { delays = delays.filter { $0.value.until != nil } }

  mutating func removeAll() { delays.removeAll() }
}
