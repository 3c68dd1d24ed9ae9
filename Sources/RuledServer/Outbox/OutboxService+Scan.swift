import RuledCore
import RuledDelivery
import RuledEngine
import RuledStore

/// Loads effects from the store into the queues, a page at a time.
///
/// A scan goes through all effects once: it fills the queues and counts what does not fit. A queue that has room again is loaded on its own.
extension OutboxService {
  /// The state of scanning and loading.
  struct Scan {
    /// The key at which the scan under way continues; nil when none is under way.
    var position: [UInt8]?
    /// When that scan began, in the clock's nanoseconds.
    var start: UInt64 = 0
    /// How long the last scan took, in milliseconds.
    var duration: UInt64 = 0
    /// Whether another scan follows the one under way.
    var isRepeated = false
    /// Effects that were given up before this sequence are tried again.
    ///
    /// A sequence and not a time, so that clocks that are set back do no harm.
    var retriesBefore: UInt64 = 0
    /// Subjects of which nothing may be loaded, as an earlier effect can't be read and its sink is not known.
    var blockedSubjects: Set<[UInt8]> = []
    /// Whether a scan is scheduled because an effect could not be read, and how many in a row were.
    var rescanIsScheduled = false
    var rescans = 0
    /// Whether a scan is scheduled to count effects.
    var recountIsScheduled = false
    /// Whether a tick is scheduled that finds out which effects have waited longest.
    var oldestIsScheduled = false
    /// Counts the pages of single queues, so that the queues with room are loaded in turn.
    var queuePages = 0
  }

  /// How many effects a page has at most.
  private static let pageCount = 2_000

  private static let firstKey = StoreKey.prefix(.effect)

  // MARK: Scanning

  /// Begins a scan, or has one follow the scan under way.
  func scanStore() {
    guard scan.position == nil else {
      scan.isRepeated = true
      return
    }
    services.outbox.beginScan()
    if !scan.rescanIsScheduled { scan.rescans = 0 }
    scan.rescanIsScheduled = false
    timers?.rescan.stop()
    scan.blockedSubjects.removeAll()
    scan.position = Self.firstKey
    scan.start = EngineClock.monotonic
    for sink in sinks.values {
      for queue in sink.queues { queue.scannedCount = 0 }
      sink.scannedGivenUp = 0
      sink.scannedOldest = nil
    }
  }

  private func endScan() {
    scan.position = nil
    scan.duration = (EngineClock.monotonic - scan.start) / 1_000_000
    for sink in sinks.values {
      for queue in sink.queues { queue.unloadedCount = queue.scannedCount }
      sink.givenUp = sink.scannedGivenUp
      sink.storedOldest = sink.scannedOldest
      sink.oldest = nil
    }
    guard scan.isRepeated else { return }
    scan.isRepeated = false
    scanStore()
  }

  /// Schedules a scan, as something in the store can't be read; the delay grows from one to the next.
  private func scheduleRescan() {
    guard !scan.rescanIsScheduled else { return }
    scan.rescanIsScheduled = true
    scan.rescans += 1
    timers?.rescan.start(after: settings.backoff.delay(after: scan.rescans))
  }

  /// Schedules a scan that counts effects; its delay grows with the time that scans take.
  func scheduleRecount() {
    guard !scan.recountIsScheduled else { return }
    scan.recountIsScheduled = true
    timers?.recount.start(after: max(settings.recountDelay, 20 * scan.duration))
  }

  /// Loads nothing more of a subject until the next scan, which is scheduled: an earlier effect of it can't be read.
  private func block(_ subject: [UInt8]) {
    scan.blockedSubjects.insert(subject)
    scheduleRescan()
  }

  // MARK: Loading

  /// Whether `loadPage` has something to do.
  var hasMoreToLoad: Bool { scan.position != nil || nextToLoad != nil }

  private var nextToLoad: DeliveryQueue? {
    let candidates = sinks.values.filter(\.isConfigured).flatMap { sink in
      sink.queues.filter { !$0.isComplete && $0.hasRoom }
    }
    return candidates.isEmpty ? nil : candidates[scan.queuePages % candidates.count]
  }

  /// Reads the next page of the scan, or of a queue that has room.
  func loadPage() {
    if let position = scan.position {
      scan.position = readPage(from: position, givenUp: { $0.scannedGivenUp += 1 }) { sink, queue, key in
        if sink.scannedOldest.map({ key.sequence < $0.sequence }) ?? true { sink.scannedOldest = key }
        if queue.contains(key) { return true }
        if !sink.isConfigured || !queue.isComplete || scan.blockedSubjects.contains(key.subject) {
          queue.scannedCount += 1
        } else if queue.isFull {
          queue.loadPosition = StoreKey.bytes { key.write(to: $0) }
          queue.scannedCount += 1
        } else {
          queue.append(key)
        }
        return true
      }
      if scan.position == nil { endScan() }
    } else if let queue = nextToLoad {
      scan.queuePages += 1
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
      guard other === queue, !scan.blockedSubjects.contains(key.subject) else { return true }
      guard !queue.isFull else { return false }
      let count = queue.count
      queue.append(key)
      queue.unloadedCount -= min(queue.unloadedCount, queue.count - count)
      return true
    }
    if queue.isComplete { queue.unloadedCount = 0 }
  }

  /// Calls `body` with each effect of a page that waits, until it returns false, and `givenUp` with the sink of each that is given up.
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
        // What could not be read may be an earlier effect of the same subject.
        if followsDamage { block(key.subject) }
        followsDamage = false
        guard let effect = StoredEffect(text, document) else {
          reportMalformed(key)
          block(key.subject)
          return true
        }
        let sink = sink(effect.sink)
        if isGivenUp(effect) {
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
      services.context.log.write(
        LogLine(.error, "the undelivered effects can't be read from the store, which is tried again: \(error)"))
      scheduleRescan()
      return nil
    }
    return next
  }

  /// Whether an effect is given up, and not to be tried again.
  func isGivenUp(_ effect: StoredEffect) -> Bool { effect.givenUpAfter.map { $0 >= scan.retriesBefore } ?? false }

  // MARK: Figures

  /// Updates the figures of a sink; which effect has waited longest is found out once a second at most.
  func updateFigures(of sink: Sink) {
    let waiting = sink.queues.reduce(0) { $0 + $1.count + $1.unloadedCount }
    if waiting == 0 {
      sink.oldest = nil
    } else if sink.oldest == nil, !scan.oldestIsScheduled {
      sink.oldest = findOldest(of: sink)
      scan.oldestIsScheduled = true
      timers?.oldest.start(after: 1_000)
    }
    let figures = sink.figures
    figures.setWaiting(waiting)
    figures.setUnreadable(sink.unreadable.count)
    figures.setGivenUp(sink.givenUp)
    if waiting == 0 || sink.oldest != nil { figures.setOldest(sink.oldest?.at) }
    figures.note(
      unleased: !isHeld && isLeased(sink) && waiting > 0 && sink.leasedCount == 0 && !leases.isAwaited(sink.name))
  }

  /// The effect of a sink that has waited longest: of those in memory, and the one that the last scan of the store found.
  private func findOldest(of sink: Sink) -> (key: EffectKey, at: Int64)? {
    var candidates = sink.queues.compactMap { queue in queue.firstKeys.min { $0.sequence < $1.sequence } }
    if let stored = sink.storedOldest {
      if case .found(let effect) = fetch(stored), !isGivenUp(effect), !sink.completed.contains(stored) {
        candidates.append(stored)
      } else {
        sink.storedOldest = nil
        if sink.queues.contains(where: { $0.unloadedCount > 0 }) { scheduleRecount() }
      }
    }
    guard let oldest = candidates.min(by: { $0.sequence < $1.sequence }), case .found = fetch(oldest),
      let at = StoredEffect.time(value.bytes, document)
    else { return nil }
    return (oldest, at)
  }

  // MARK: Single effects

  /// Adds a committed effect to its queue; where loading finds it later, only counts it.
  func add(_ key: EffectKey) {
    let effect: StoredEffect
    switch fetch(key) {
    case .found(let found): effect = found
    case .gone: return
    case .unreadable: return block(key.subject)
    }
    let sink = sink(effect.sink)
    guard !isGivenUp(effect), !sink.completed.contains(key) else { return }
    let queue = sink.queue(of: effect.plugin)
    guard sink.isConfigured else { return scheduleRecount() }
    if isAhead(of: scan.position) { return }
    if isAhead(of: queue.loadPosition) || scan.blockedSubjects.contains(key.subject) {
      queue.unloadedCount += 1
    } else if queue.isFull || queue.needsReload {
      queue.unloadedCount += 1
      queue.needsReload = true
    } else {
      queue.append(key)
    }
  }

  /// Whether reading that continues at `position` will reach the key in `keyBuffer`.
  private func isAhead(of position: [UInt8]?) -> Bool {
    position.map { !keyBuffer.bytes.lexicographicallyPrecedes($0) } ?? false
  }

  /// What the store has under an effect's key.
  enum Fetched {
    /// The effect; its text is in `value`.
    case found(StoredEffect)
    /// Nothing any more.
    case gone
    /// Something that can't be read: the effect stays, and the later ones of its subject wait.
    case unreadable
  }

  /// Reads an effect from the store.
  func fetch(_ key: EffectKey) -> Fetched {
    let context = services.context
    keyBuffer.removeAll()
    key.write(to: keyBuffer)
    value.removeAll()
    do throws(StoreError) {
      guard try context.store.get(keyBuffer.bytes, into: value) else { return .gone }
      context.clearDamage(keyBuffer.bytes)
    } catch {
      context.noteDamage(keyBuffer.bytes, of: key.subject, error)
      return .unreadable
    }
    guard let effect = StoredEffect(value.bytes, document) else {
      reportMalformed(key)
      return .unreadable
    }
    context.clearDamage(keyBuffer.bytes, malformed: true)
    return .found(effect)
  }

  private func reportMalformed(_ key: EffectKey) {
    services.context.noteDamage(
      StoreKey.bytes { key.write(to: $0) }, of: key.subject, StoreError(.corrupt, "an effect has another form"),
      malformed: true)
  }
}
