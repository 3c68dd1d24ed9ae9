package import RuledCore
import RuledJSON
package import RuledStore

/// Lists over all subjects, read from the durable data.
package enum StoreListing {
  /// How many subjects without a state a page looks through, as each takes as long as a hundred with one.
  static let mostWithoutState = 256

  /// The subjects with stored data, in byte order, after `after`; at most `limit`, and where to continue.
  ///
  /// A page may end before it has `limit` subjects. Subjects in a damaged range of the store are missing, which the damage report shows. A subject of
  /// which only some data can't be read is listed.
  package static func subjects(
    _ context: EngineContext, prefix: String, after: String?, limit: Int
  ) throws(RequestError) -> (subjects: [String], next: String?) {
    let (previous, prefix) = (after.map { Array($0.utf8) }, Array(prefix.utf8))
    let start = previous.map { prefix.lexicographicallyPrecedes($0) ? $0 : prefix } ?? prefix
    let end = StoreKey.upperBound(StoreKey.prefix(.record) + prefix)
    var found: [String] = []
    var last: String?
    var withoutState = 0
    var more = false
    do throws(StoreError) {
      try context.scan(from: StoreKey.prefix(.record) + start, to: end, of: .record) { key, value in
        guard case .record(let subject)? = try? ParsedKey(key) else { return true }
        if let previous, subject.elementsEqual(previous) { return true }
        let hasState = hasState(context, subject, value, at: key)
        if !hasState { withoutState += 1 }
        let isOver = withoutState > mostWithoutState
        let isFound = !isOver && (hasState || hasOtherData(context, subject))
        more = isOver || isFound && found.count == limit
        guard !more else { return false }
        if isFound { found.append(subject.text) }
        last = subject.text
        return true
      }
    } catch { throw error.requestError }
    return (found, more ? last : nil)
  }

  /// Whether a plugin has a state of the subject, or its record can't be read.
  private static func hasState(
    _ context: EngineContext, _ subject: ByteView, _ record: ByteView, at key: ByteView
  ) -> Bool {
    do throws(StoreError) { return try SubjectRecordView(record).hasPlugins } catch {
      context.noteDamage(key, of: Array(subject), error, malformed: true)
      return true
    }
  }

  /// Whether anything but a state is stored of the subject, or some of it can't be read.
  private static func hasOtherData(_ context: EngineContext, _ subject: ByteView) -> Bool {
    for kind in [StoreKey.Kind.timer, .once, .effect, .parked, .place, .membership] {
      let prefix = StoreKey.prefix(kind, of: subject)
      var any = false
      do throws(StoreError) {
        try context.store.scan(prefix: prefix) { key, value in
          let now = context.clock.now.microseconds
          any =
            switch kind {
            case .place: context.boards.isOn(try? ParsedKey(key), at: now)
            case .once: OnceKeys.isValid(value, at: now)
            default: true
            }
          return !any
        }
      } catch {
        context.noteDamage(prefix, of: Array(subject), error)
        any = true
      }
      if any { return true }
    }
    return false
  }

  /// The parked parts of one plugin or of all, after `after`, and where to continue; parts in a damaged range of the store are missing.
  ///
  /// A page ends after `limit` parts, or once its parts have more than `bytes` in the store.
  package static func parked(
    _ context: EngineContext, plugin: String?, after: String?, limit: Int, bytes: Int = .max
  ) throws(RequestError) -> (parked: [JSONValue], next: String?) {
    var lower = StoreKey.prefix(.parked)
    if let after {
      guard let key = ParkedKey(text: after) else {
        throw RequestError.invalidParams(path: "params.after", "no such id")
      }
      lower = StoreKey.bytes { StoreKey.numbered(.parked, key.subject, key.sequence, into: $0) } + [0]
    }
    var found: [JSONValue] = []
    var more = false
    var left = bytes
    do throws(StoreError) {
      try context.scan(from: lower, to: StoreKey.upperBound(StoreKey.prefix(.parked)), of: .parked) { key, value in
        guard let entry = StoredPair(key: Array(key), value: Array(value)).parked else { return true }
        if let plugin, entry["plugin"]?.stringValue != plugin { return true }
        if found.count == limit || left < 0 {
          more = true
          return false
        }
        found.append(entry)
        left -= value.count
        return true
      }
    } catch { throw error.requestError }
    return (found, more ? found.last?["id"]?.stringValue : nil)
  }

  /// The keys of a plugin's parked parts, each subject's in order.
  package static func parkedKeys(_ context: EngineContext, plugin: String) throws(RequestError) -> [ParkedKey] {
    let document = TapeDocument()
    var found: [ParkedKey] = []
    do throws(StoreError) {
      try context.scan(prefix: StoreKey.prefix(.parked), of: .parked) { key, value in
        if document.plugin(of: value) == plugin, case .parked(let subject, let sequence)? = try? ParsedKey(key) {
          found.append(ParkedKey(subject: Array(subject), sequence: sequence))
        }
        return true
      }
    } catch { throw error.requestError }
    return found
  }

  /// How many parked parts each plugin has; those in a damaged range of the store are missing.
  package static func parkedCounts(_ context: EngineContext) throws(StoreError) -> [String: Int] {
    let document = TapeDocument()
    var counts: [String: Int] = [:]
    try context.scan(prefix: StoreKey.prefix(.parked), of: .parked) { _, value in
      counts[document.plugin(of: value) ?? "", default: 0] += 1
      return true
    }
    return counts
  }

  /// How many timers wait; those in a damaged range of the store are missing.
  package static func timerCount(_ context: EngineContext) throws(StoreError) -> Int {
    var count = 0
    try context.scan(prefix: StoreKey.prefix(.timerIndex), of: .timerIndex) { _, _ in
      count += 1
      return true
    }
    return count
  }

  /// Calls `body` with each stored message: its subject, its number, and the plugin that sent it, empty for messages of older versions.
  package static func forEachMessage(
    _ context: EngineContext, _ body: (_ subject: ByteView, _ sequence: UInt64, _ plugin: String) -> Void
  ) throws(StoreError) {
    let document = TapeDocument()
    try context.scan(prefix: StoreKey.prefix(.message), of: .message) { key, value in
      guard case .message(let subject, let sequence)? = try? ParsedKey(key) else { return true }
      body(subject, sequence, document.sender(of: value))
      return true
    }
  }

  package struct Timers {
    /// The timers that are due, in order.
    package var due: [DueTimer] = []
    /// The due time of the first timer, skipped ones included.
    package var first: Int64?
    /// The due time of the first timer that is not due yet; nil when the limit was reached before it.
    package var next: Int64?
  }

  /// The timers that are due from `from` up to `now`, in order, or from the timer `first` on, except those to be skipped; at most `limit`.
  ///
  /// Timers that are `waiting` are left out as if they were not there: their plugin is not in force.
  package static func timers(
    _ context: EngineContext, from: Int64 = .min, first: DueTimer? = nil, now: Int64, limit: Int,
    waiting: (DueTimer) -> Bool = { _ in false }, skipping: (DueTimer) -> Bool = { _ in false }
  ) throws(StoreError) -> Timers {
    var found = Timers()
    let lower = StoreKey.bytes { key in
      guard let first else { return StoreKey.timerIndex(due: from, into: key) }
      StoreKey.timerIndex(due: first.due, first.subject, plugin: first.plugin, name: first.name, into: key)
    }
    let upper = StoreKey.upperBound(StoreKey.prefix(.timerIndex))
    try context.scan(from: lower, to: upper, of: .timerIndex) { key, _ in
      let due: Int64
      let timer: DueTimer
      do throws(StoreError) {
        guard case .timerIndex(let time, let subject, let plugin, let name) = try ParsedKey(key) else { return true }
        due = time
        timer = DueTimer(due: time, subject: Array(subject), plugin: Array(plugin), name: Array(name))
      } catch {
        context.noteDamage(key, StoreError(error.code, error.message), malformed: true)
        return true
      }
      guard due <= now else {
        found.first = found.first ?? due
        found.next = due
        return false
      }
      guard !waiting(timer) else { return true }
      found.first = found.first ?? due
      if !skipping(timer) { found.due.append(timer) }
      return found.due.count < limit
    }
    return found
  }
}
