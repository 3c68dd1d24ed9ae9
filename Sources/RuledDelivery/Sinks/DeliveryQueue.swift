package import RuledCore
package import RuledWire

/// The loaded effects of one plugin for one sink: a bounded window on the store.
///
/// While the store holds more than the window, loading continues at `loadPosition` as room comes.
package final class DeliveryQueue {
  /// The most effects in the window.
  static let capacity = 4_096

  /// The plugin; empty for a sink that has one queue for all.
  let plugin: String
  /// The key in the store at which loading continues; nil while no loading is under way.
  package var loadPosition: [UInt8]?
  /// Whether loading has passed effects that it left out, so that it has to begin again.
  package var needsReload = false
  /// The number of effects that are in the store only, about.
  package var unloadedCount = 0
  /// The number of these that the scan under way has counted so far.
  package var scannedCount = 0
  /// The number of effects in the window now.
  package private(set) var count = 0
  /// Until when the whole queue waits, in the loop's milliseconds.
  package private(set) var pausedUntil: UInt64 = 0
  /// Why the last try of all of it failed, for sinks that take many effects at a time; nil since the last success.
  package var failure: DeliveryFailure?

  private var subjects: [[UInt8]: SubjectEffects] = [:]
  /// The subjects whose first effect may be sent; entries before `readyHead` are gone.
  private var ready: [SubjectEffects] = []
  private var readyHead = 0
  /// The subjects whose first effect waits for another try, and the earliest time of one.
  private var delayed: [SubjectEffects] = []
  private var earliestDelayed = UInt64.max
  /// The earliest time of an effect that `postpone` lets wait.
  private var earliestPostponed = UInt64.max
  private var failures = 0
  private var pauses = 0

  init(plugin: String) { self.plugin = plugin }

  /// Whether all effects in the store are loaded.
  package var isComplete: Bool { loadPosition == nil && !needsReload }

  package var isFull: Bool { count >= Self.capacity }

  /// Whether there is enough room to continue loading.
  package var hasRoom: Bool { count <= Self.capacity / 2 }

  /// When an effect can be sent next; nil when none waits for a time.
  package var nextTime: UInt64? {
    if pausedUntil > 0, readyHead < ready.count { return max(pausedUntil, 1) }
    let next = min(earliestDelayed, earliestPostponed)
    return next == .max ? nil : max(next, pausedUntil)
  }

  package func contains(_ key: EffectKey) -> Bool { subjects[key.subject]?.contains(key.sequence) ?? false }

  /// Adds an effect unless the queue contains it: in the order of its subject's effects, but never before one that may be under way.
  package func append(_ key: EffectKey) {
    if let subject = subjects[key.subject] {
      guard subject.insert(key.sequence) else { return }
    } else {
      let subject = SubjectEffects(of: key.subject)
      _ = subject.insert(key.sequence)
      subjects[key.subject] = subject
      ready.append(subject)
    }
    count += 1
  }

  /// The first effects of the subjects in the window.
  package var firstKeys: some Sequence<EffectKey> {
    subjects.values.lazy.filter { $0.count > 0 }.map { EffectKey(subject: $0.subject, sequence: $0.first) }
  }

  package func effects(of subject: [UInt8]) -> SubjectEffects? { subjects[subject] }

  /// Removes an effect from the window, unless it is its subject's first and may be under way, as `isBusy` says.
  package func remove(_ key: EffectKey, isBusy: Bool) {
    guard let subject = subjects[key.subject], subject.contains(key.sequence) else { return }
    guard subject.first == key.sequence else {
      subject.remove(key.sequence)
      count -= 1
      return
    }
    guard !isBusy else { return }
    start(subject)
    delayed.removeAll { $0 === subject }
    completeFirst(of: subject)
  }

  /// Ends the waits of a subject and of the whole queue.
  package func expedite(_ subject: [UInt8]) {
    pausedUntil = 0
    guard let effects = subjects[subject] else { return }
    effects.notBefore = 0
    earliestDelayed = delayed.isEmpty ? .max : 0
    if earliestPostponed != .max { earliestPostponed = 0 }
  }

  // MARK: One effect at a time

  /// The next subject that is ready and for which `isFree` is true; it stays ready until `start`.
  func next(now: UInt64, where isFree: ([UInt8]) -> Bool) -> SubjectEffects? {
    guard now >= pausedUntil else { return nil }
    moveDelayed(now)
    return ready[readyHead...].first { isFree($0.subject) }
  }

  /// Removes a subject from the ready ones, until `completeFirst` or `retryFirst`.
  package func start(_ subject: SubjectEffects) {
    guard let index = ready[readyHead...].firstIndex(where: { $0 === subject }) else { return }
    guard index == readyHead else {
      ready.remove(at: index)
      return
    }
    readyHead += 1
    if readyHead > 64, readyHead * 2 > ready.count {
      ready.removeFirst(readyHead)
      readyHead = 0
    }
  }

  /// Removes a subject's first effect, which is delivered, expired or given up.
  package func completeFirst(of subject: SubjectEffects) {
    subject.removeFirst()
    count -= 1
    if subject.count == 0 { subjects[subject.subject] = nil } else { ready.append(subject) }
  }

  /// Lets a subject's first effect be tried again at a time.
  package func retryFirst(of subject: SubjectEffects, at time: UInt64) {
    subject.notBefore = time
    delayed.append(subject)
    earliestDelayed = min(earliestDelayed, time)
  }

  private func moveDelayed(_ now: UInt64) {
    guard now >= earliestDelayed else { return }
    earliestDelayed = .max
    var later: [SubjectEffects] = []
    for subject in delayed {
      if subject.notBefore <= now {
        ready.append(subject)
      } else {
        later.append(subject)
        earliestDelayed = min(earliestDelayed, subject.notBefore)
      }
    }
    delayed = later
  }

  // MARK: Many effects at a time

  /// All effects that may be sent, in the order in which they were emitted.
  package func due(now: UInt64) -> [EffectKey] {
    guard now >= pausedUntil, count > 0 else { return [] }
    if now >= earliestPostponed {
      earliestPostponed = .max
      for subject in subjects.values where subject.notBefore > 0 {
        if subject.notBefore <= now {
          subject.notBefore = 0
        } else {
          earliestPostponed = min(earliestPostponed, subject.notBefore)
        }
      }
    }
    return subjects.values.filter { $0.notBefore == 0 }.flatMap(\.keys).sorted { $0.sequence < $1.sequence }
  }

  /// Removes an effect of `due`, which is delivered; the effects of a subject in their order.
  package func complete(_ key: EffectKey) {
    guard let subject = subjects[key.subject], subject.count > 0, subject.first == key.sequence else { return }
    if subject.count == 1 { start(subject) }
    subject.removeFirst()
    count -= 1
    if subject.count == 0 { subjects[subject.subject] = nil }
  }

  /// Lets an effect of `due` wait, and the later ones of its subject with it; `time` gives the time of the next try.
  package func postpone(_ key: EffectKey, until time: (_ tries: Int) -> UInt64) {
    guard let subject = subjects[key.subject] else { return }
    subject.tries += 1
    subject.notBefore = max(time(subject.tries), 1)
    earliestPostponed = min(earliestPostponed, subject.notBefore)
  }

  /// Whether an effect of `due` was postponed since, or an earlier one of its subject.
  package func isPostponed(_ key: EffectKey) -> Bool { subjects[key.subject].map { $0.notBefore > 0 } ?? false }

  // MARK: Pausing

  /// Counts a success of the receiver, which ends a pause.
  package func noteSuccess() {
    failures = 0
    pauses = 0
    pausedUntil = 0
    failure = nil
  }

  /// Counts a failure of the receiver.
  ///
  /// The queue pauses after three in a row, or at once when `pausesAtOnce`: the failure is then the receiver's, whatever the effect. The
  /// pause lasts `minimum` milliseconds at least.
  package func noteFailure(now: UInt64, _ backoff: Backoff, atLeast minimum: UInt64 = 0, pausesAtOnce: Bool) {
    failures += 1
    guard pausesAtOnce || failures >= 3 else { return }
    if now >= pausedUntil {
      pauses += 1
      pausedUntil = now + max(backoff.delay(after: pauses), minimum)
    } else {
      pausedUntil = max(pausedUntil, now + minimum)
    }
  }

  /// Ends all waits, and forgets the failures before.
  package func resume() {
    noteSuccess()
    for subject in subjects.values { subject.notBefore = 0 }
    earliestPostponed = .max
    earliestDelayed = delayed.isEmpty ? .max : 0
  }
}
