package import RuledCore
package import RuledStore
import Synchronization

/// A store that fails on demand, around one that does the work.
///
/// For tests of the layers above. As with a full disk, a failed commit leaves nothing behind, and later ones fail until `reopen()`
/// succeeds.
package final class FaultyStore: StateStore {
  private struct Faults {
    var commitsUntilFailure: Int?
    var reopensToFail = 0
    var state = StoreState.open
    var readsFail = false
    var scansFail = false
    /// Which keys can't be looked up.
    var unreadable: (@Sendable (ByteView) -> Bool)?
    /// How many look-ups failed that way.
    var failedReads = 0
    /// The prefix of keys that can't be looked up, and whether a cursor that reaches one fails.
    var unreadablePrefix: [UInt8]?
    var cursorsFail = false
    /// The appended sets that are not committed.
    var appended: [WriteSet] = []
    var lastAppended: UInt64 = 0
    var lastCommitted: UInt64 = 0
    /// What each sync does first.
    var syncing: (@Sendable () -> Void)?
    /// Whether each append needs room made for it first, and whether there is room for the next one.
    var needsRoom = false
    var hasRoom = false
    /// The bytes of the sets that found no room, and those for which room was made.
    var rooms: (missing: [Int], made: [Int]) = ([], [])

    /// Whether there is no room for a set; notes its size then.
    mutating func lacksRoom(for set: WriteSet) -> Bool {
      guard needsRoom else { return false }
      if !hasRoom { rooms.missing.append(set.byteCount) }
      defer { hasRoom = false }
      return !hasRoom
    }
  }

  private let store: any StateStore
  private let faults = Mutex(Faults())

  /// A store that works like `store` until a test orders a failure.
  package init(_ store: any StateStore) { self.store = store }

  /// Makes the `number`th commit, append or sync from now fail (1 is the next), and after it the first `reopens` attempts to reopen.
  package func failCommit(_ number: Int, thenReopens reopens: Int = 0) {
    faults.withLock { faults in
      faults.commitsUntilFailure = number
      faults.reopensToFail = reopens
    }
  }

  /// Has each sync call `body` first: appended commits can't be read before `body` ends.
  package func beforeSyncs(_ body: @escaping @Sendable () -> Void) { faults.withLock { $0.syncing = body } }

  /// Has each append find no room at first.
  package func requireRoom() { faults.withLock { $0.needsRoom = true } }

  /// The bytes of the sets that found no room, and those for which room was made, in their order.
  package var rooms: (missing: [Int], made: [Int]) { faults.withLock { $0.rooms } }

  /// Makes every look-up of a key fail, or ends that.
  package func failReads(_ fails: Bool) { faults.withLock { $0.readsFail = fails } }

  /// Makes every scan fail, or ends that.
  package func failScans(_ fails: Bool) { faults.withLock { $0.scansFail = fails } }

  /// Makes every look-up of a key in `unreadable` fail, as in a damaged block; nil ends that.
  package func failReads(of unreadable: (@Sendable (ByteView) -> Bool)?) {
    faults.withLock { $0.unreadable = unreadable }
  }

  /// How many look-ups of the keys named in `failReads` failed.
  package var failedReads: Int { faults.withLock { $0.failedReads } }

  /// Makes look-ups of keys that begin with `prefix` fail, and cursors that reach one; nil ends that.
  package func failReads(beginningWith prefix: [UInt8]?, byCursor: Bool = false) {
    faults.withLock { faults in
      faults.unreadablePrefix = prefix
      faults.cursorsFail = byCursor
    }
  }

  package var name: String { store.name }

  package var disk: StoreDisk? { store.disk }

  package func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    guard !faults.withLock({ $0.readsFail || $0.unreadablePrefix.map { key.starts(with: $0) } ?? false }) else {
      throw StoreError(.inputOutput, "a key can't be read (by order of a test)")
    }
    let isDamaged = faults.withLock { faults in
      let isDamaged = faults.unreadable?(key) ?? false
      if isDamaged { faults.failedReads += 1 }
      return isDamaged
    }
    guard !isDamaged else {
      throw StoreError(.corrupt, "a key can't be read", underlying: "a block of /store/000007.sst, by order of a test")
    }
    return try store.get(key, into: buffer)
  }

  package func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    if faults.withLock({ !$0.appended.isEmpty }) { _ = try syncCommits() }
    try passOrFail()
    try store.commit(set, durable: durable)
  }

  package func appendCommit(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
    if isCommitted, faults.withLock({ !$0.appended.isEmpty }) { return nil }
    if faults.withLock({ $0.lacksRoom(for: set) }) { return nil }
    try passOrFail()
    if isCommitted { try store.commit(set, durable: false) }
    let copy = WriteSet(capacity: set.byteCount)
    copy.append(set)
    return faults.withLock { faults in
      faults.lastAppended += 1
      if isCommitted { faults.lastCommitted = faults.lastAppended } else { faults.appended.append(copy) }
      return faults.lastAppended
    }
  }

  package func makeRoom(for byteCount: Int) throws(StoreError) {
    faults.withLock { faults in
      guard faults.needsRoom else { return }
      faults.hasRoom = true
      faults.rooms.made.append(byteCount)
    }
    try syncCommits()
  }

  @discardableResult
  package func syncCommits() throws(StoreError) -> UInt64 {
    faults.withLock { $0.syncing }?()
    let (appended, last) = faults.withLock { faults in
      defer { faults.appended.removeAll() }
      return (faults.appended, faults.lastAppended)
    }
    try passOrFail(poisoned: appended.isEmpty)
    for set in appended { try store.commit(set, durable: true) }
    try store.syncCommits()
    faults.withLock { $0.lastCommitted = last }
    return last
  }

  package var committedSequence: UInt64 { faults.withLock { $0.lastCommitted } }

  package var state: StoreState { faults.withLock { $0.state } }

  package func reopen() throws(StoreError) {
    try faults.withLock { (faults) throws(StoreError) in
      guard faults.reopensToFail == 0 else {
        faults.reopensToFail -= 1
        throw StoreError(.diskFull, "the store can't be reopened: no space is left (by order of a test)")
      }
    }
    try store.reopen()
    faults.withLock { $0.state = .open }
  }

  package var problem: StoreError? { store.problem }

  package func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard !faults.withLock({ $0.scansFail }) else {
      throw StoreError(.inputOutput, "a range can't be read (by order of a test)")
    }
    guard let unreadable = faults.withLock({ $0.cursorsFail ? $0.unreadablePrefix : nil }) else {
      return try store.withCursor(below: upper, body)
    }
    try store.withCursor(below: upper) { (cursor) throws(StoreError) in
      try body(FaultyCursor(cursor, unreadable: unreadable))
    }
  }

  package func checkpoint(to path: String) throws(StoreError) { try store.checkpoint(to: path) }

  package func expire(before cutoff: Int64) { store.expire(before: cutoff) }

  package func close() throws(StoreError) {
    faults.withLock { $0.state = .closed }
    try store.close()
  }

  /// Throws if this write shall fail; throws `poisoned` after an earlier failure.
  private func passOrFail(poisoned: Bool = true) throws(StoreError) {
    try faults.withLock { (faults) throws(StoreError) in
      if poisoned, faults.state.failure != nil {
        throw StoreError(.poisoned, "an earlier commit failed; the store takes none until it is reopened")
      }
      guard let left = faults.commitsUntilFailure else { return }
      faults.commitsUntilFailure = left > 1 ? left - 1 : nil
      guard left <= 1 else { return }
      let error = StoreError(.diskFull, "no space is left (by order of a test)")
      faults.state = .failed(error)
      throw error
    }
  }
}

/// A cursor that fails at keys with a certain prefix, or skips them.
private final class FaultyCursor: StoreCursor {
  private let cursor: any StoreCursor
  private let unreadable: [UInt8]

  init(_ cursor: any StoreCursor, unreadable: [UInt8]) {
    self.cursor = cursor
    self.unreadable = unreadable
  }

  var key: ByteView { cursor.key }

  var value: ByteView { cursor.value }

  var skipping: ((UnreadableKeys) -> Void)? {
    get { cursor.skipping }
    set { cursor.skipping = newValue }
  }

  func seek(to key: ByteView) throws(StoreError) -> Bool {
    let start = Array(key)
    return try check(try cursor.seek(to: key), after: start)
  }

  func next() throws(StoreError) -> Bool {
    let last = Array(cursor.key)
    return try check(try cursor.next(), after: last)
  }

  private func check(_ isFound: Bool, after last: [UInt8]) throws(StoreError) -> Bool {
    guard isFound, cursor.key.starts(with: unreadable) else { return isFound }
    let error = StoreError(.corrupt, "keys can't be read (by order of a test)")
    guard let skipping else { throw error }
    var isFound = true
    while isFound, cursor.key.starts(with: unreadable) { isFound = try cursor.next() }
    skipping(UnreadableKeys(error: error, after: last, before: isFound ? Array(cursor.key) : nil))
    return isFound
  }
}
