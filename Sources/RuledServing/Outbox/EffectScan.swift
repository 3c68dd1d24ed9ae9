import RuledCore
import RuledDelivery
import RuledEngine
import RuledIO
import RuledStore

/// Loads effects from the store into the queues, a page at a time; confined to the outbox's thread.
///
/// A scan goes through all effects once: it fills the queues and counts the effects that do not fit. A queue that has room again is loaded on its
/// own.
final class EffectScan: OutboxPart {
  private struct Timers {
    /// A scan without a reason.
    let scan: LoopTimer
    /// A scan after something could not be read.
    let rescan: LoopTimer
    let recount: LoopTimer
    /// A tick that finds out which effects have waited longest.
    let oldest: LoopTimer
  }

  private var timers: Timers?
  /// The key at which the scan under way continues; nil when none is under way.
  private var position: [UInt8]?
  /// When that scan began, in the clock's nanoseconds.
  private var start: UInt64 = 0
  /// How long the last scan took, in milliseconds.
  private var duration: UInt64 = 0
  /// Whether another scan follows the one under way.
  private var isRepeated = false
  /// Subjects of which nothing may be loaded, as an earlier effect can't be read and its sink is not known.
  private var blockedSubjects: Set<[UInt8]> = []
  /// Whether a scan is scheduled because of an unreadable effect, and the number of such scans in a row.
  private var rescanIsScheduled = false
  private var rescans = 0
  /// Counts the pages of single queues, so that the queues with room are loaded in turn.
  private var queuePages = 0
  private var hasLoadedInTick = false

  /// Begins a scan now, and another one whenever the period of scans has passed.
  func begin() throws(SystemError) {
    let timers = Timers(
      scan: try LoopTimer(on: loop) { [unowned self] in scanStore() },
      rescan: try LoopTimer(on: loop) { [unowned self] in scanStore() },
      recount: try LoopTimer(on: loop) { [unowned self] in scanStore() }, oldest: try LoopTimer(on: loop) {})
    timers.scan.start(after: settings.scanPeriod, every: settings.scanPeriod)
    self.timers = timers
    scanStore()
  }

  private static let pageCount = 2_000

  private static let firstKey = StoreKey.prefix(.effect)

  // MARK: Scanning

  /// Begins a scan, or has one follow the scan under way.
  func scanStore() {
    guard position == nil else {
      isRepeated = true
      return
    }
    services.outbox.beginScan()
    if !rescanIsScheduled { rescans = 0 }
    rescanIsScheduled = false
    timers?.rescan.stop()
    blockedSubjects.removeAll()
    position = Self.firstKey
    start = EngineClock.monotonic
    for sink in sinks.all {
      for queue in sink.queues { queue.scannedCount = 0 }
      sink.scannedGivenUp = 0
      sink.scannedOldest = nil
    }
  }

  private func endScan() {
    position = nil
    duration = (EngineClock.monotonic - start) / 1_000_000
    for sink in sinks.all {
      for queue in sink.queues { queue.unloadedCount = queue.scannedCount }
      sink.givenUp = sink.scannedGivenUp
      sink.storedOldest = sink.scannedOldest
      sink.oldest = nil
    }
    guard isRepeated else { return }
    isRepeated = false
    scanStore()
  }

  /// Schedules a scan, as something in the store can't be read; the delay grows from one to the next.
  private func scheduleRescan() {
    guard !rescanIsScheduled else { return }
    rescanIsScheduled = true
    rescans += 1
    timers?.rescan.start(after: settings.backoff.delay(after: rescans))
  }

  /// Schedules a scan that counts effects; its delay grows with the time that scans take.
  func scheduleRecount() {
    guard let timers, !timers.recount.isRunning else { return }
    timers.recount.start(after: max(settings.recountDelay, 20 * duration))
  }

  /// Loads nothing more of a subject until the next scan, which is scheduled: an earlier effect of it can't be read.
  private func block(_ subject: [UInt8]) {
    blockedSubjects.insert(subject)
    scheduleRescan()
  }

  // MARK: Loading

  /// Loads a page of effects in each tick until nothing is left to load.
  func load() {
    guard !hasLoadedInTick, hasMoreToLoad else { return }
    loadPage()
    guard hasMoreToLoad else { return }
    hasLoadedInTick = true
    loop.onNextTick { [unowned self] in hasLoadedInTick = false }
  }

  private var hasMoreToLoad: Bool { position != nil || nextToLoad != nil }

  private var nextToLoad: DeliveryQueue? {
    let candidates = sinks.all.filter(\.isConfigured).flatMap { sink in
      sink.queues.filter { !$0.isComplete && $0.hasRoom }
    }
    return candidates.isEmpty ? nil : candidates[queuePages % candidates.count]
  }

  /// Reads the next page of the scan, or of a queue that has room.
  private func loadPage() {
    if let next = position {
      position = readPage(from: next, givenUp: { $0.scannedGivenUp += 1 }) { sink, queue, key in
        if sink.scannedOldest.map({ key.sequence < $0.sequence }) ?? true { sink.scannedOldest = key }
        if queue.contains(key) { return true }
        if !sink.isConfigured || !queue.isComplete || blockedSubjects.contains(key.subject) {
          queue.scannedCount += 1
        } else if queue.isFull {
          queue.loadPosition = StoreKey.bytes { key.write(to: $0) }
          queue.scannedCount += 1
        } else {
          queue.append(key)
        }
        return true
      }
      if position == nil { endScan() }
    } else if let queue = nextToLoad {
      queuePages += 1
      load(queue)
    }
  }

  private func load(_ queue: DeliveryQueue) {
    if queue.loadPosition == nil {
      queue.needsReload = false
      queue.loadPosition = Self.firstKey
    }
    guard let position = queue.loadPosition else { return }
    queue.loadPosition = readPage(from: position) { _, other, key in
      guard other === queue, !blockedSubjects.contains(key.subject) else { return true }
      guard !queue.isFull else { return false }
      let count = queue.count
      queue.append(key)
      queue.unloadedCount -= min(queue.unloadedCount, queue.count - count)
      return true
    }
    if queue.isComplete { queue.unloadedCount = 0 }
  }

  /// Calls `body` with each waiting effect of a page, until it returns false, and `givenUp` with the sink of each given-up one.
  ///
  /// Returns where to continue, nil at the end.
  private func readPage(
    from position: [UInt8], givenUp: (Sink) -> Void = { _ in }, _ body: (Sink, DeliveryQueue, EffectKey) -> Bool
  ) -> [UInt8]? {
    var readCount = 0
    var next: [UInt8]?
    var followsDamage = false
    do throws(StoreError) {
      try services.context.scan(
        from: position, to: StoreKey.upperBound(Self.firstKey), of: .effect,
        passing: { _ in
          followsDamage = true
          scheduleRescan()
        }
      ) { bytes, text in
        guard readCount < Self.pageCount else {
          next = Array(bytes)
          return false
        }
        readCount += 1
        guard let key = EffectKey(bytes) else { return true }
        // The unreadable value may be an earlier effect of the same subject.
        if followsDamage { block(key.subject) }
        followsDamage = false
        guard let effect = StoredEffect(text, store.document) else {
          store.reportMalformed(key)
          block(key.subject)
          return true
        }
        let sink = sinks.sink(effect.sink)
        if store.isGivenUp(effect) {
          givenUp(sink)
          return true
        }
        guard !sink.completed.contains(key) else { return true }
        guard body(sink, sink.queue(of: effect.plugin), key) else {
          next = Array(bytes)
          return false
        }
        return true
      }
    } catch {
      services.log.error("the undelivered effects can't be read from the store, which is tried again: \(error)")
      scheduleRescan()
      return nil
    }
    return next
  }

  // MARK: Single effects

  /// Adds a committed effect to its queue; only counts it if loading will find it later.
  func add(_ key: EffectKey) {
    let effect: StoredEffect
    switch store.fetch(key) {
    case .found(let found): effect = found
    case .gone: return
    case .unreadable: return block(key.subject)
    }
    let sink = sinks.sink(effect.sink)
    guard !store.isGivenUp(effect), !sink.completed.contains(key) else { return }
    let queue = sink.queue(of: effect.plugin)
    guard sink.isConfigured else { return scheduleRecount() }
    if isAhead(of: position) { return }
    if isAhead(of: queue.loadPosition) || blockedSubjects.contains(key.subject) {
      queue.unloadedCount += 1
    } else if queue.isFull || queue.needsReload {
      queue.unloadedCount += 1
      queue.needsReload = true
    } else {
      queue.append(key)
    }
  }

  /// Whether reading that continues at `position` will reach the key in the store's buffer.
  private func isAhead(of position: [UInt8]?) -> Bool {
    position.map { !store.keyBuffer.bytes.lexicographicallyPrecedes($0) } ?? false
  }

  // MARK: Figures

  /// Finds out which effect of a sink has waited longest, once a second at most.
  func updateOldest(of sink: Sink, waiting: Int) {
    if waiting == 0 {
      sink.oldest = nil
    } else if sink.oldest == nil, let timers, !timers.oldest.isRunning {
      sink.oldest = findOldest(of: sink)
      timers.oldest.start(after: 1_000)
    }
  }

  /// The effect of a sink that has waited longest: of those in memory, and the one that the last scan of the store found.
  private func findOldest(of sink: Sink) -> (key: EffectKey, at: Int64)? {
    var candidates = sink.queues.compactMap { queue in queue.firstKeys.min { $0.sequence < $1.sequence } }
    if let stored = sink.storedOldest {
      if case .found(let effect) = store.fetch(stored), !store.isGivenUp(effect), !sink.completed.contains(stored) {
        candidates.append(stored)
      } else {
        sink.storedOldest = nil
        if sink.queues.contains(where: { $0.unloadedCount > 0 }) { scheduleRecount() }
      }
    }
    guard let oldest = candidates.min(by: { $0.sequence < $1.sequence }), case .found = store.fetch(oldest),
      let at = StoredEffect.time(store.value.bytes, store.document)
    else { return nil }
    return (oldest, at)
  }
}
