import RuledCore
import RuledStore

/// Idempotency: what an event came to is remembered, and given again to whoever repeats it.
extension Evaluator {
  /// What a record tells an event by: a hash of its source and id.
  static func identity(_ event: EventInput) -> UInt64 { hash64(event.id, seed: hash64(event.source, seed: 1)) }

  /// Puts the key of an event's outcome, which expires at `seconds`, into `key`.
  private func writeOutcomeKey(_ event: EventInput, expiring seconds: UInt32) {
    key.removeAll()
    guard event.source.count + event.id.count > StoreKey.longestPlainIdentity else {
      StoreKey.outcome(expiring: seconds, event.subject, source: event.source, id: event.id, into: key)
      return
    }
    var hash = SHA256()
    hash.update(event.source)
    hash.update("\0")
    hash.update(event.id)
    StoreKey.outcome(expiring: seconds, event.subject, digest: hash.finish().bytes, into: key)
  }

  /// Appends the outcome of the event if it is a repeat, and says whether it is.
  func appendRemembered(
    _ event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?, to reply: ByteBuffer
  ) throws(RequestError) -> Bool {
    guard let record, let seconds = try expiry(of: identity, now: event.now, subject, record) else { return false }
    writeOutcomeKey(event, expiring: seconds)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value), !StoredExpiry.isOver(value.bytes, before: event.now) else {
      return false
    }
    let outcome = UnsafeRawBufferPointer(rebasing: value.bytes[StoredExpiry.byteCount...])
    Self.append(duplicate: outcome, to: reply)
    return true
  }

  /// When the outcome of the event with that hash expires, in seconds since 1970; nil when none is known.
  private func expiry(
    of identity: UInt64, now: Int64, _ subject: Subject, _ record: SubjectRecordView
  ) throws(RequestError) -> UInt32? {
    if let seconds = record.seconds(ofRecent: identity) { return seconds }
    guard Int64(record.overflowUntil) * 1_000_000 > now else { return nil }
    if let seconds = subject.overflow.seconds(of: identity) { return seconds }
    guard !subject.overflow.isComplete else { return nil }
    key.removeAll()
    StoreKey.outcomeIndex(subject.name, hash: identity, into: key)
    value.removeAll()
    let isFound =
      if subject.overflow.lastCommit > durable { try read(key.bytes, of: subject, into: value) } else {
        try readCommitted(key.bytes, into: value)
      }
    guard isFound, let expiry = StoredExpiry.read(value.bytes) else { return nil }
    return UInt32(clamping: expiry / 1_000_000)
  }

  /// The outcomes that are remembered of a subject, with their keys, in about the order in which they were committed.
  func remembered(_ subject: Subject, _ record: SubjectRecordView?) throws(RequestError) -> [(
    key: [UInt8], value: [UInt8]
  )] {
    var times: Set<UInt32> = []
    if let record { for index in 0..<record.recentCount { times.insert(record.recentEvent(at: index).seconds) } }
    for entry in try readAll(.outcomeIndex, subject.name) {
      if let expiry = entry.value.withUnsafeBytes({ StoredExpiry.read($0) }) {
        times.insert(UInt32(clamping: expiry / 1_000_000))
      }
    }
    var found: [(key: [UInt8], value: [UInt8])] = []
    for seconds in times.sorted() {
      found += try readAll(prefix: StoreKey.bytes { StoreKey.outcomePrefix(expiring: seconds, subject.name, into: $0) })
    }
    return found
  }

  /// Appends a remembered outcome with `duplicate` true.
  ///
  /// The words can't stand earlier in it: within a JSON string the quotes would be escaped.
  private static func append(duplicate outcome: UnsafeRawBufferPointer, to reply: ByteBuffer) {
    let words: StaticString = "\"duplicate\":false"
    let length = words.utf8CodeUnitCount
    let wanted = UnsafeRawBufferPointer(start: words.utf8Start, count: length)
    var place = 0
    while place + length <= outcome.count {
      if outcome[place] == UInt8(ascii: "\""),
        UnsafeRawBufferPointer(rebasing: outcome[place..<place + length]).elementsEqual(wanted)
      {
        break
      }
      place += 1
    }
    reply.append(UnsafeRawBufferPointer(rebasing: outcome[..<place]))
    reply.append("\"duplicate\":true" as StaticString)
    reply.append(UnsafeRawBufferPointer(rebasing: outcome[min(place + length, outcome.count)...]))
  }

  /// Adds the outcome to the unit, and the event to `recent`, which becomes the record's list; answers until when more than the list
  /// has to be asked, in seconds.
  func remember(
    _ event: EventInput, identity: UInt64, outcome: UnsafeRawBufferPointer, subject: Subject,
    record: SubjectRecordView?
  ) -> UInt64 {
    let expiry = event.now + context.dedupWindow
    let seconds = UInt32(clamping: (expiry + 999_999) / 1_000_000)
    writeOutcomeKey(event, expiring: seconds)
    value.removeAll()
    value.append(bigEndian: UInt64(bitPattern: expiry))
    value.append(outcome)
    unit.writes.put(key.bytes, value.bytes)
    var overflowUntil = keepRecent(record, now: event.now)
    if recent.count >= Self.recentEvents {
      let oldest = recent.removeFirst()
      let before = overflowUntil
      overflowUntil = max(overflowUntil, UInt64(oldest.seconds))
      key.removeAll()
      StoreKey.outcomeIndex(event.subject, hash: oldest.hash, into: key)
      value.removeAll()
      value.append(bigEndian: UInt64(oldest.seconds) * 1_000_000)
      unit.writes.put(key.bytes, value.bytes)
      subject.overflow.add(
        oldest.hash, expiring: oldest.seconds, commit: unit.number, isFirst: Int64(before) * 1_000_000 <= event.now)
    }
    recent.append(RecentEvent(hash: identity, seconds: seconds))
    return overflowUntil
  }

  /// Puts the record's recent events that still count into `recent`; answers its overflow.
  func keepRecent(_ record: SubjectRecordView?, now: Int64) -> UInt64 {
    recent.removeAll(keepingCapacity: true)
    guard let record else { return 0 }
    for index in 0..<record.recentCount {
      let event = record.recentEvent(at: index)
      if Int64(event.seconds) >= now / 1_000_000 { recent.append(event) }
    }
    return record.overflowUntil
  }
}
