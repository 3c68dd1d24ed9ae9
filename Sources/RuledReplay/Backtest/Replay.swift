import RuledCore
import RuledJournal
import RuledLua
import RuledStore

/// Plays entries on both sides of a backtest, in order on one thread, or with the lanes of the subjects divided among several.
///
/// The result is the same for any number of threads (docs/decisions/41). The replay belongs to the thread that made it.
package final class Replay {
  private static let portionSteps = 256
  /// The size of the caches of all worlds together, in MiB.
  private static let cacheMiB = 384

  private let lanes: SubjectLanes
  private let counterLimit: Int
  private let stores: (baseline: any StateStore, candidate: any StateStore)
  /// The sides, if all is played on the calling thread.
  private var sides: Sides?
  private var threads: [ReplayThread] = []
  /// The next steps of each thread.
  private var portions: [[ReplayThread.Step]] = []
  /// The thread of each lane.
  private let owners: [Int]
  private var hasStopped = false

  /// A replay that has played nothing, on so many threads; on 1 it is the calling one.
  init(_ setup: Sides.Setup, threads: Int) throws(RequestError) {
    let threads = max(1, min(threads, SubjectLanes.count))
    var setup = setup
    setup.configuration.limits.cacheMiB = min(setup.configuration.limits.cacheMiB, Self.cacheMiB / (2 * threads))
    lanes = setup.recorded?.lanes ?? SubjectLanes()
    counterLimit = setup.configuration.limits.counters
    stores = setup.stores
    owners = lanes.threads(threads)
    guard threads > 1 else {
      sides = try Sides(setup, lua: LuaWorker())
      return
    }
    for number in 0..<threads {
      let own = Set(owners.indices.filter { owners[$0] == number })
      self.threads.append(try ReplayThread(setup, own, number: number))
    }
    portions = Array(repeating: [], count: threads)
  }

  deinit { for thread in threads { _ = try? thread.end() } }

  // MARK: Playing

  /// Plays an entry, and compares what it does on both sides if it is in the range.
  ///
  /// - Returns: false if playing on is useless, because something failed or subjects of different threads depend on each other.
  func play(_ entry: JournalEntry, isCompared: Bool) throws(RequestError) -> Bool {
    if let sides {
      try sides.play(entry, isCompared: isCompared)
      return true
    }
    let owner = entry.origin == .rules ? nil : owners[lanes.lane(of: entry.subject)]
    for number in portions.indices {
      portions[number].append(
        number == owner ? .play(entry, isCompared: isCompared) : .pass(entry, isCompared: isCompared))
    }
    if portions[0].count >= Self.portionSteps { send() }
    return !hasStopped
  }

  /// Notes that part of the history is missing before the next entry.
  func noteGap() {
    sides?.noteGap()
    for number in portions.indices { portions[number].append(.gap) }
  }

  private func send() {
    for number in threads.indices {
      if !threads[number].add(portions[number]) { hasStopped = true }
      portions[number] = []
    }
  }

  /// Ends the replay, and fires the timers that are due by `end`, which is nil if not all entries were played.
  ///
  /// - Returns: the comparison; nil if a subject's message went to a subject of another thread: the entries must be played in order on one thread.
  func finish(at end: Timestamp?) throws(RequestError) -> Comparison? {
    if let sides {
      if let end { try sides.finish(at: end) }
      return try merged(isWhole: end != nil) { _ in sides }
    }
    if let end { for number in portions.indices { portions[number].append(.finish(end)) } }
    send()
    defer { threads = [] }
    var ended: [Sides] = []
    var failure: RequestError?
    for thread in threads {
      do throws(RequestError) { if let sides = try thread.end() { ended.append(sides) } } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    // A thread knows the members of topics among its own subjects alone.
    let mayMiss = ended.contains(where: \.hasDifferentMembers) && ended.contains(where: \.hasPublished)
    guard ended.count == threads.count, !mayMiss, hasRoomForCounters(ended) else { return nil }
    return try merged(isWhole: end != nil) { ended[owners[$0]] }
  }

  /// The comparison of all sides, with boards and topics only if all was played, as the stores may lack the rest.
  private func merged(isWhole: Bool, _ sides: (_ lane: Int) -> Sides) throws(RequestError) -> Comparison {
    let merged = Comparison()
    for lane in 0..<SubjectLanes.count { merged.merge(sides(lane).comparisons[lane]) }
    guard isWhole else { return merged }
    do throws(StoreError) { try merged.compare(stores) } catch { throw error.requestError }
    return merged
  }

  /// Whether all threads' counters together stay so far below the limit that no plugin would have been refused one on a single thread.
  private func hasRoomForCounters(_ ended: [Sides]) -> Bool {
    let first = threads.first?.firstCounters ?? []
    for side in first.indices {
      var counts: [String: Int] = [:]
      for sides in ended {
        for (plugin, count) in sides.counterCounts[side] {
          counts[plugin, default: 0] += count - (first[side][plugin] ?? 0)
        }
      }
      for (plugin, added) in counts where added > 0 {
        // The counters of an event are in the table while it is evaluated, even if it then fails.
        if (first[side][plugin] ?? 0) + added + Limits.operations > counterLimit { return false }
      }
    }
    return true
  }
}
