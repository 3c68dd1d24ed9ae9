import RuledCore
import RuledEngine
import RuledStore

/// Finding the effects in the store, a page at a time.
extension OutboxService {
  /// How many effects a page has at most.
  private static let page = 2_000

  private static let start = StoreKey.prefix(.effect)

  /// Begins to go through all effects, from the start.
  func look() {
    guard lookPosition == nil else {
      looksAgain = true
      return
    }
    services.outbox.looks()
    if !awaitsLook { unreadableLooks = 0 }
    awaitsLook = false
    later?.stop()
    heldBack.removeAll()
    lookPosition = Self.start
    lookBegan = EngineClock.monotonic
    for sink in sinks.values { for lane in sink.lanes { lane.counted = 0 } }
  }

  /// The walk has come to the end.
  private func looked() {
    lookPosition = nil
    lookTime = (EngineClock.monotonic - lookBegan) / 1_000_000
    for sink in sinks.values { for lane in sink.lanes { lane.unloaded = lane.counted } }
    guard looksAgain else { return }
    looksAgain = false
    look()
  }

  /// Whether there is something to go on with.
  var wantsToLoad: Bool { lookPosition != nil || nextToLoad != nil }

  private var nextToLoad: Lane? {
    let candidates = sinks.values.filter(\.isConfigured).flatMap { sink in
      sink.lanes.filter { !$0.isComplete && $0.hasRoom }
    }
    return candidates.isEmpty ? nil : candidates[loadTurn % candidates.count]
  }

  /// An effect was committed.
  func recorded(_ key: EffectKey) {
    let effect: StoredEffect
    switch fetch(key) {
    case .found(let found): effect = found
    case .gone: return
    case .unreadable: return holdBack(key.subject)
    }
    let sink = sink(effect.sink)
    let lane = sink.lane(of: effect.plugin)
    guard sink.isConfigured else { return countSoon() }
    if isBehind(lookPosition) { return }
    if isBehind(lane.position) {
      lane.unloaded += 1
    } else if lane.isFull || lane.isDirty || heldBack.contains(key.subject) {
      lane.unloaded += 1
      lane.isDirty = lane.isDirty || !heldBack.contains(key.subject)
    } else {
      lane.take(key)
    }
  }

  /// Whether the key in `keyBuffer` is one that a walk which goes on at `position` will still come by.
  private func isBehind(_ position: [UInt8]?) -> Bool {
    position.map { !keyBuffer.bytes.lexicographicallyPrecedes($0) } ?? false
  }

  /// What the store says of an effect.
  enum Fetched {
    /// It is there, its text in `value`.
    case found(StoredEffect)
    /// It is there no longer.
    case gone
    /// Nobody can tell: it stays, and so do the subject's later ones.
    case unreadable
  }

  /// The effect as it stands in the store now.
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
    guard let effect = StoredEffect(value.bytes) else {
      malformed(key)
      return .unreadable
    }
    context.clearDamage(keyBuffer.bytes, malformed: true)
    return .found(effect)
  }

  private func malformed(_ key: EffectKey) {
    services.context.noteDamage(
      StoreKey.bytes { key.write(to: $0) }, of: key.subject, StoreError(.corrupt, "an effect has another form"),
      malformed: true)
  }

  // MARK: Effects of which nobody knows for which sink they are

  /// Lets no effect of a subject go out that stands behind one which can't be read, until the store is gone through again, which is soon and then ever later.
  func holdBack(_ subject: [UInt8]) {
    heldBack.insert(subject)
    lookAgainLater()
  }

  /// Goes through the store again in a while, as something in it could not be read.
  func lookAgainLater() {
    guard !awaitsLook else { return }
    awaitsLook = true
    unreadableLooks += 1
    later?.start(after: settings.backoff.delay(after: unreadableLooks))
  }

  /// Reads a page of the walk, or of the lane that has room.
  func loadPage() {
    if let position = lookPosition {
      let next = walk(from: position) { sink, lane, key in
        if lane.holds(key) { return true }
        if !sink.isConfigured || !lane.isComplete || heldBack.contains(key.subject) {
          lane.counted += 1
        } else if lane.isFull {
          lane.position = StoreKey.bytes { key.write(to: $0) }
          lane.counted += 1
        } else {
          lane.take(key)
        }
        return true
      }
      lookPosition = next
      if next == nil { looked() }
    } else if let lane = nextToLoad {
      loadTurn += 1
      load(lane)
    }
  }

  private func load(_ lane: Lane) {
    if lane.position == nil {
      lane.isDirty = false
      lane.position = Self.start
    }
    guard let position = lane.position else { return }
    lane.position = walk(from: position) { _, other, key in
      guard other === lane, !heldBack.contains(key.subject) else { return true }
      guard !lane.isFull else { return false }
      let count = lane.count
      lane.take(key)
      lane.unloaded -= min(lane.unloaded, lane.count - count)
      return true
    }
    if lane.isComplete { lane.unloaded = 0 }
  }

  /// Calls `body` with the effects of a page that nothing has come of, until it returns false; answers where to go on, nil at the end.
  private func walk(from position: [UInt8], _ body: (Sink, Lane, EffectKey) -> Bool) -> [UInt8]? {
    var seen = 0
    var next: [UInt8]?
    var isBehindDamage = false
    do throws(StoreError) {
      try services.context.scan(
        from: position, to: StoreKey.upperBound(Self.start), of: .effect,
        passing: { _ in
          isBehindDamage = true
          lookAgainLater()
        }
      ) { bytes, text in
        guard seen < Self.page else {
          next = Array(bytes)
          return false
        }
        seen += 1
        guard let key = EffectKey(bytes) else { return true }
        // What could not be read may be the subject's too, and then comes first.
        if isBehindDamage { holdBack(key.subject) }
        isBehindDamage = false
        guard let effect = StoredEffect(text) else {
          malformed(key)
          holdBack(key.subject)
          return true
        }
        if effect.isGivenUp, effect.givenUpAfter >= retriesBefore { return true }
        let sink = sink(effect.sink)
        guard !sink.settled.contains(key) else { return true }
        guard body(sink, sink.lane(of: effect.plugin), key) else {
          next = Array(bytes)
          return false
        }
        return true
      }
    } catch {
      log(.error, "the undelivered effects can't be read from the store, which is tried again: \(error)")
      lookAgainLater()
      return nil
    }
    return next
  }
}
