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

  private static let mostWaiting = 4

  private let queue = Condition()
  private var waiting: [[Step]] = []
  private var isClosed = false
  private var hasBegun = false
  /// The sides, once the thread has ended; nil if a message was sent to a subject of another thread.
  private var result: Result<Sides?, RequestError>?
  /// The counters of each plugin at the beginning, on both sides.
  private(set) var firstCounters: [[String: Int]] = []
  private var thread: Thread?

  /// Starts the thread, and returns once its worlds are ready: worlds of several threads use the same stores, and must begin one after the other.
  init(_ setup: Sides.Setup, _ own: Set<Int>, number: Int) throws(RequestError) {
    do throws(ThreadError) {
      thread = try Thread(name: "replay-\(number)") { [self] in run(setup, own) }
    } catch { throw RequestError(.unavailable, "a thread of the replay can't be started: error \(error.number)") }
    let early = queue.wait { hasBegun || result != nil ? .some(result) : nil }
    if case .failure(let error)? = early {
      thread?.join()
      throw error
    }
  }

  /// Adds steps once there is room; returns false if the thread has stopped, because something failed or a message went to another thread.
  func add(_ portion: [Step]) -> Bool {
    queue.wait {
      guard result == nil else { return false }
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
    return try result?.get() ?? nil
  }

  // MARK: On the thread

  private func run(_ setup: Sides.Setup, _ own: Set<Int>) {
    do throws(RequestError) {
      let sides = try Sides(setup, lua: LuaWorker(), own: own)
      queue.signal { (firstCounters, hasBegun) = (sides.counterCounts, true) }
      while let portion = next() {
        try play(portion, on: sides)
        if sides.hasMissed { return queue.signal { result = .success(nil) } }
      }
      queue.signal { result = .success(sides) }
    } catch { queue.signal { result = .failure(error) } }
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
