import RuledThreads

/// How far a follower is to play the log back at once, and what waits for it.
final class Playback: @unchecked Sendable {  // `lock` guards what changes
  /// What the following thread has to do.
  enum Demand {
    /// To read the log.
    case read
    /// To run bodies that wait for what is played back already.
    case run
    /// To end.
    case stop
  }

  private struct Waiting {
    let sequence: Int64
    let body: @Sendable () -> Void
  }

  private let store: PlayedStore
  private let lock = Condition()
  /// The last batch that somebody wants, and the one that the log did not have when it was read for it.
  private var wanted: Int64 = 0
  private var missed: Int64 = 0
  /// In the order of their sequences.
  private var waiting: [Waiting] = []
  private var isRunning = false
  private var isFollowing = true
  private var isStopping = false

  init(_ store: PlayedStore) { self.store = store }

  private var played: Int64 { store.position.sequence }

  // MARK: Any thread

  /// Asks to play back at once until `sequence` is there.
  func follow(to sequence: Int64) {
    lock.signal { want(sequence) }
  }

  /// Asks for `sequence`, and waits until it is played back; false if it is not in time, or will not be.
  func awaitPlayed(_ sequence: Int64, milliseconds: Int) -> Bool {
    follow(to: sequence)
    return lock.wait(milliseconds: milliseconds) { played >= sequence ? true : isFollowing ? nil : false } ?? false
  }

  /// Asks for `sequence`, and runs `body` when it is played back, after those that wait for earlier ones.
  func whenPlayed(_ sequence: Int64, _ body: @escaping @Sendable () -> Void) {
    let isPlayed = lock.locked {
      if waiting.isEmpty, !isRunning, played >= sequence { return true }
      guard isFollowing else { return false }
      let index = (waiting.lastIndex { $0.sequence <= sequence } ?? -1) + 1
      waiting.insert(Waiting(sequence: sequence, body: body), at: index)
      want(sequence)
      return false
    }
    if isPlayed { body() } else { lock.wakeAll() }
  }

  private func want(_ sequence: Int64) {
    wanted = max(wanted, sequence)
    missed = 0
  }

  /// Ends the following thread's waits.
  func stop() { lock.signal { isStopping = true } }

  // MARK: The following thread

  /// Waits for something to do; nil if there is none for so many milliseconds.
  func next(milliseconds: Int) -> Demand? {
    lock.wait(milliseconds: milliseconds) {
      if isStopping { return .stop }
      if let first = waiting.first, first.sequence <= played { return .run }
      return wanted > max(played, missed) ? .read : nil
    }
  }

  /// Waits for so many milliseconds, or until `stop`.
  func pause(milliseconds: Int) { let _: Void? = lock.wait(milliseconds: milliseconds) { isStopping ? () : nil } }

  /// Notes that the log does not have what is wanted: it is read at once when somebody asks again, otherwise as if nobody had asked.
  func noteMissing() { lock.locked { missed = wanted } }

  /// Tells those who wait for what is played back now.
  func tell() {
    lock.wakeAll()
    while true {
      let due = lock.locked {
        let end = waiting.firstIndex { $0.sequence > played } ?? waiting.count
        let due = Array(waiting[..<end])
        waiting.removeFirst(end)
        isRunning = !due.isEmpty
        return due
      }
      if due.isEmpty { return }
      for waiting in due { waiting.body() }
    }
  }

  /// Drops what waits: the node plays nothing back any more.
  func end() {
    lock.signal {
      isFollowing = false
      waiting.removeAll()
    }
  }
}

extension ClusterNode {
  /// Asks the following thread to play the log back at once until it has the batch `sequence`; from any thread.
  package func follow(to sequence: Int64) { playback.follow(to: sequence) }

  /// Asks for the batch `sequence`, and waits until it is played back; false if that takes longer, or the node does not follow any more; from any thread.
  package func awaitPlayed(_ sequence: Int64, milliseconds: Int) -> Bool {
    playback.awaitPlayed(sequence, milliseconds: milliseconds)
  }

  /// Asks for the batch `sequence`, and runs `body` once it is played back; from any thread.
  ///
  /// Bodies run one at a time, ordered by their sequences and then by the calls: at once if none of them waits, otherwise on the following
  /// thread, which must not be blocked. A body that still waits when the node stops following never runs.
  package func whenPlayed(_ sequence: Int64, _ body: @escaping @Sendable () -> Void) {
    playback.whenPlayed(sequence, body)
  }
}
