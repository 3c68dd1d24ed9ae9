import RuledCore
import RuledJournal
import RuledLua
import RuledThreads

/// A thread of a replay with both sides for some lanes of the subjects: it plays their entries, and advances to the times of all others.
///
/// Entries come in portions; only a few portions may wait.
final class ReplayThread: @unchecked Sendable {  // `queue` guards the mutable fields
  enum Step: Sendable {
    case play(JournalEntry, isCompared: Bool)
    /// An entry of another thread.
    case pass(JournalEntry, isCompared: Bool)
    case gap
    case finish(Timestamp)
  }

  private enum Phase {
    case beginning
    case running
    case ended
  }

  private static let mostWaiting = 4

  private let queue = Condition()
  private var waiting: [[Step]] = []
  private var isClosed = false
  private var phase = Phase.beginning
  private var failure: RequestError?
  private var missed = false
  /// The sides, once their thread has ended.
  private var ended: Sides?
  /// The counters of each plugin at the beginning, on both sides.
  private(set) var firstCounters: [[String: Int]] = []
  private var thread: Thread?

  /// Starts the thread, and returns once its worlds are ready: worlds of several threads use the same stores, and must begin one after the other.
  init(_ setup: Sides.Setup, _ own: Set<Int>, number: Int) throws(RequestError) {
    do throws(ThreadError) {
      thread = try Thread(name: "replay-\(number)") { [self] in run(setup, own) }
    } catch { throw RequestError(.unavailable, "a thread of the replay can't be started: error \(error.number)") }
    let failure = queue.wait { phase == .beginning ? nil : .some(self.failure) }
    if let failure {
      thread?.join()
      throw failure
    }
  }

  /// Adds steps once there is room; returns false if the thread has stopped, because something failed or a message went to another thread.
  func add(_ portion: [Step]) -> Bool {
    queue.wait {
      guard phase == .running, failure == nil, !missed else { return false }
      guard waiting.count < Self.mostWaiting else { return nil }
      waiting.append(portion)
      queue.wakeAll()
      return true
    }
  }

  /// Waits until all steps are done, and gives the sides; nil if a message was sent to a subject of another thread.
  func end() throws(RequestError) -> Sides? {
    queue.signal { isClosed = true }
    thread?.join()
    if let failure { throw failure }
    return missed ? nil : ended
  }

  // MARK: On the thread

  private func run(_ setup: Sides.Setup, _ own: Set<Int>) {
    do throws(RequestError) {
      let sides = try Sides(setup, lua: LuaWorker(), own: own)
      queue.signal {
        firstCounters = sides.counterCounts
        phase = .running
      }
      while let portion = next() {
        try play(portion, on: sides)
        if sides.hasMissed { return queue.signal { (missed, phase) = (true, .ended) } }
      }
      queue.signal { (ended, phase) = (sides, .ended) }
    } catch { queue.signal { (failure, phase) = (error, .ended) } }
  }

  private func next() -> [Step]? {
    queue.wait {
      guard !waiting.isEmpty else { return isClosed ? .some(nil) : nil }
      queue.wakeAll()
      return .some(waiting.removeFirst())
    }
  }

  private func play(_ portion: [Step], on sides: Sides) throws(RequestError) {
    for step in portion {
      switch step {
      case .play(let entry, let isCompared): try sides.play(entry, isCompared: isCompared)
      case .pass(let entry, let isCompared): try sides.pass(entry, isCompared: isCompared)
      case .gap: sides.noteGap()
      case .finish(let end): try sides.finish(at: end)
      }
    }
  }
}
