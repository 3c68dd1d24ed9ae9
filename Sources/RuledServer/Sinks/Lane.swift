import RuledCore
import RuledEngine

/// The effects of one plugin for one sink that the thread has before it: a window, whatever the store holds.
///
/// Where more stands in the store than the window takes, the lane goes through the store from `position` on as room comes.
final class Lane {
  /// How many effects it takes.
  static let room = 4_096

  /// The plugin; empty where the sink does not tell them apart.
  let plugin: String
  /// Where in the store it goes on; nil when the window holds all there is.
  var position: [UInt8]?
  /// Whether more came behind that place.
  var isDirty = false
  /// How many effects stand in the store alone, about.
  var unloaded = 0
  /// How many of them the walk through all effects has come by.
  var counted = 0
  /// How many effects the window holds.
  private(set) var count = 0
  /// Before then nothing of the lane goes out.
  private(set) var notBefore: UInt64 = 0

  private var queues: [[UInt8]: SubjectQueue] = [:]
  private var ready: [SubjectQueue] = []
  private var readyHead = 0
  private var delayed: [SubjectQueue] = []
  private var earliest = UInt64.max
  /// When the first of the effects is to be tried that wait where many are taken at a time.
  private var earliestPostponed = UInt64.max
  private var failures = 0
  private var pauses = 0

  /// An empty lane.
  init(plugin: String) { self.plugin = plugin }

  /// Whether it has all that there is for it.
  var isComplete: Bool { position == nil && !isDirty }

  /// Whether there is no room for another.
  var isFull: Bool { count >= Self.room }

  /// Whether there is room enough to go on through the store.
  var hasRoom: Bool { count <= Self.room / 2 }

  /// When something of it can next go out; nil when nothing waits for a time.
  var nextTime: UInt64? {
    if notBefore > 0, readyHead < ready.count { return max(notBefore, 1) }
    let next = min(earliest, earliestPostponed)
    return next == .max ? nil : max(next, notBefore)
  }

  /// Whether the effect is in the window, or something came of it since its subject's queue began.
  func holds(_ key: EffectKey) -> Bool { queues[key.subject].map { key.sequence <= $0.last } ?? false }

  /// Takes an effect unless it has it; effects of a subject come in their order.
  func take(_ key: EffectKey) {
    guard !holds(key) else { return }
    if let queue = queues[key.subject] {
      queue.append(key.sequence)
    } else {
      let queue = SubjectQueue(subject: key.subject)
      queue.append(key.sequence)
      queues[key.subject] = queue
      ready.append(queue)
    }
    count += 1
  }

  /// The subject whose turn is next among those that `isFree` lets pass.
  func peek(now: UInt64, _ isFree: ([UInt8]) -> Bool) -> SubjectQueue? {
    guard now >= notBefore else { return nil }
    wake(now)
    return ready[readyHead...].first { isFree($0.subject) }
  }

  /// Takes a subject's turn away; `finished` or `retry` gives it back.
  func begin(_ queue: SubjectQueue) {
    guard let place = ready[readyHead...].firstIndex(where: { $0 === queue }) else { return }
    if place == readyHead {
      readyHead += 1
      if readyHead > 64, readyHead * 2 > ready.count {
        ready.removeFirst(readyHead)
        readyHead = 0
      }
    } else {
      ready.remove(at: place)
    }
  }

  /// Something has come of the subject's first effect.
  func finished(_ queue: SubjectQueue) {
    queue.removeFirst()
    count -= 1
    if queue.count == 0 { queues[queue.subject] = nil } else { ready.append(queue) }
  }

  /// The subject's first effect is to be tried again at a time, or at once.
  func retry(_ queue: SubjectQueue, at time: UInt64) {
    queue.notBefore = time
    delayed.append(queue)
    earliest = min(earliest, time)
  }

  /// All effects that may go out, in the order in which they were emitted, for a sink that takes many at a time.
  func all(now: UInt64) -> [EffectKey] {
    guard now >= notBefore, count > 0 else { return [] }
    if now >= earliestPostponed {
      earliestPostponed = .max
      for queue in queues.values where queue.notBefore > 0 {
        if queue.notBefore <= now {
          queue.notBefore = 0
        } else {
          earliestPostponed = min(earliestPostponed, queue.notBefore)
        }
      }
    }
    return queues.values.filter { $0.notBefore == 0 }.flatMap(\.keys).sorted { $0.sequence < $1.sequence }
  }

  /// Lets an effect that `all` gave wait, and those of its subject behind it, until the time that comes of how often it was tried.
  func postpone(_ key: EffectKey, _ time: (_ tries: Int) -> UInt64) {
    guard let queue = queues[key.subject] else { return }
    queue.tries += 1
    queue.notBefore = max(time(queue.tries), 1)
    earliestPostponed = min(earliestPostponed, queue.notBefore)
  }

  /// Whether an effect that `all` gave has come to wait since.
  func waits(_ key: EffectKey) -> Bool { queues[key.subject].map { $0.notBefore > 0 } ?? false }

  /// Something has come of an effect that `all` gave, in its order.
  func finished(_ key: EffectKey) {
    guard let queue = queues[key.subject], queue.count > 0, queue.first == key.sequence else { return }
    if queue.count == 1 { begin(queue) }
    queue.removeFirst()
    count -= 1
    if queue.count == 0 { queues[queue.subject] = nil }
  }

  // MARK: Pausing

  /// The receiver took something.
  func succeeded() {
    failures = 0
    pauses = 0
    notBefore = 0
  }

  /// The receiver failed; the lane pauses when that is its own fault rather than an effect's, or goes on for long.
  func failed(now: UInt64, _ backoff: Backoff, atLeast wait: UInt64 = 0, atOnce: Bool) {
    failures += 1
    guard atOnce || failures >= 3 else { return }
    if now >= notBefore {
      pauses += 1
      notBefore = now + max(backoff.delay(after: pauses), wait)
    } else {
      notBefore = max(notBefore, now + wait)
    }
  }

  /// Forgets all waits.
  func resume() {
    failures = 0
    pauses = 0
    notBefore = 0
    for queue in queues.values { queue.notBefore = 0 }
    earliestPostponed = .max
    earliest = delayed.isEmpty ? .max : 0
  }

  private func wake(_ now: UInt64) {
    guard now >= earliest else { return }
    earliest = .max
    var late: [SubjectQueue] = []
    for queue in delayed {
      if queue.notBefore <= now {
        ready.append(queue)
      } else {
        late.append(queue)
        earliest = min(earliest, queue.notBefore)
      }
    }
    delayed = late
  }
}
