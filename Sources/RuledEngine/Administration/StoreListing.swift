package import RuledCore
package import RuledStore

/// Lists over all subjects, read from what is committed.
package enum StoreListing {
  /// The subjects that something is held on, in byte order, from behind `after` on; one more than `limit` is never returned.
  package static func subjects(
    _ store: any StateStore, prefix: String, after: String?, limit: Int
  ) throws(RequestError) -> (subjects: [String], next: String?) {
    let lower = ByteBuffer(capacity: 300)
    lower.append(StoreKey.Kind.record.rawValue)
    let behind = after.map { Array($0.utf8) }
    let start = behind.map { prefix.utf8.lexicographicallyPrecedes($0) ? $0 : Array(prefix.utf8) } ?? Array(prefix.utf8)
    start.withUnsafeBytes { lower.append($0) }
    let end = StoreKey.upperBound([StoreKey.Kind.record.rawValue] + Array(prefix.utf8))
    var found: [String] = []
    var more = false
    var problem: StoreError?
    do throws(StoreError) {
      try store.scan(from: Array(lower.bytes), to: end) { key, value in
        guard case .record(let subject)? = try? ParsedKey(key) else { return true }
        if let behind, subject.elementsEqual(behind) { return true }
        do throws(StoreError) {
          guard try isFound(store, subject, value) else { return true }
        } catch {
          problem = error
          return false
        }
        if found.count == limit {
          more = true
          return false
        }
        found.append(String(decoding: subject, as: UTF8.self))
        return true
      }
      if let problem { throw problem }
    } catch { throw error.requestError }
    return (found, more ? found.last : nil)
  }

  private static func isFound(
    _ store: any StateStore, _ subject: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer
  ) throws(StoreError) -> Bool {
    if try SubjectRecordView(record).hasPlugins { return true }
    for kind in [StoreKey.Kind.timer, .once, .effect, .parked] {
      let prefix = ByteBuffer(capacity: 300)
      StoreKey.subjectPrefix(kind, subject, into: prefix)
      var any = false
      try store.scan(prefix: Array(prefix.bytes)) { _, _ in
        any = true
        return false
      }
      if any { return true }
    }
    return false
  }

  /// The parked parts, of one plugin or of all, from behind `after` on.
  package static func parked(
    _ store: any StateStore, plugin: String?, after: String?, limit: Int
  ) throws(RequestError) -> (parked: [JSONValue], next: String?) {
    var lower = StoreKey.prefix(.parked)
    if let after {
      guard let key = ParkedKey(id: after) else { throw RequestError.invalidParams(path: "params.after", "no such id") }
      let buffer = ByteBuffer(capacity: 300)
      StoreKey.parked(key.subject, sequence: key.sequence, into: buffer)
      lower = Array(buffer.bytes) + [0]
    }
    var found: [JSONValue] = []
    var more = false
    do throws(StoreError) {
      try store.scan(from: lower, to: StoreKey.upperBound(StoreKey.prefix(.parked))) { key, value in
        guard let entry = Evaluator.parked((Array(key), Array(value))) else { return true }
        if let plugin, entry["plugin"]?.stringValue != plugin { return true }
        if found.count == limit {
          more = true
          return false
        }
        found.append(entry)
        return true
      }
    } catch { throw error.requestError }
    return (found, more ? found.last?["id"]?.stringValue : nil)
  }

  /// The parked parts of a plugin, in order per subject.
  package static func parkedKeys(_ store: any StateStore, plugin: String) throws(RequestError) -> [ParkedKey] {
    let document = EventDocument()
    var found: [ParkedKey] = []
    do throws(StoreError) {
      try store.scan(prefix: StoreKey.prefix(.parked)) { key, value in
        if document.plugin(of: value) == plugin, case .parked(let subject, let sequence)? = try? ParsedKey(key) {
          found.append(ParkedKey(subject: Array(subject), sequence: sequence))
        }
        return true
      }
    } catch { throw error.requestError }
    return found
  }

  /// Calls `body` with each message that waits: its subject, its number, and the plugin that sent it, empty where it does not say.
  package static func forEachMessage(
    _ store: any StateStore,
    _ body: (_ subject: UnsafeRawBufferPointer, _ sequence: UInt64, _ plugin: String) -> Void
  ) throws(StoreError) {
    let document = EventDocument()
    try store.scan(prefix: StoreKey.prefix(.message)) { key, value in
      guard case .message(let subject, let sequence)? = try? ParsedKey(key) else { return true }
      body(subject, sequence, document.sender(of: value))
      return true
    }
  }

  /// The timers due at `now` or before, in order, from the index key `from` on.
  package static func dueTimers(
    _ store: any StateStore, from: Int64 = .min, now: Int64, limit: Int
  ) throws(StoreError) -> [DueTimer] {
    var found: [DueTimer] = []
    let lower = ByteBuffer(capacity: 16)
    StoreKey.timerIndex(due: from, into: lower)
    try store.scan(from: Array(lower.bytes), to: StoreKey.upperBound(StoreKey.prefix(.timerIndex))) { key, _ in
      guard case .timerIndex(let due, let subject, let plugin, let name)? = try? ParsedKey(key), due <= now,
        found.count < limit
      else { return false }
      found.append(DueTimer(due: due, subject: Array(subject), plugin: Array(plugin), name: Array(name)))
      return true
    }
    return found
  }

  /// When the first timer from `from` on is due.
  package static func nextTimer(_ store: any StateStore, from: Int64) throws(StoreError) -> Int64? {
    var next: Int64?
    let lower = ByteBuffer(capacity: 16)
    StoreKey.timerIndex(due: from, into: lower)
    try store.scan(from: Array(lower.bytes), to: StoreKey.upperBound(StoreKey.prefix(.timerIndex))) { key, _ in
      if case .timerIndex(let due, _, _, _)? = try? ParsedKey(key) { next = due }
      return false
    }
    return next
  }
}
