import RuledCore
import RuledStore

/// Idempotency: what an event came to is remembered, and given again to whoever repeats it.
///
/// `now` is the steady time throughout: a machine's clock that jumps ahead must not let anything be forgotten.
extension Evaluator {
  /// What a record tells an event by: a hash of its source and id.
  static func identity(_ event: EventInput) -> UInt64 { hash64(event.id, seed: hash64(event.source, seed: 1)) }

  /// Puts the key of an event's outcome, which expires at `seconds`, into `key`; whether the event's id stands in it.
  private func writeOutcomeKey(_ event: EventInput, expiring seconds: UInt32) -> Bool {
    key.removeAll()
    guard event.source.count + event.id.count > StoreKey.longestPlainIdentity else {
      StoreKey.outcome(expiring: seconds, event.subject, source: event.source, id: event.id, into: key)
      return true
    }
    var hash = SHA256()
    hash.update(event.source)
    hash.update("\0")
    hash.update(event.id)
    StoreKey.outcome(expiring: seconds, event.subject, digest: hash.finish().bytes, into: key)
    return false
  }

  /// Appends the outcome of the event if it is a repeat, and says whether it is.
  func appendRemembered(
    _ event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?, to reply: ByteBuffer
  ) throws(RequestError) -> Bool {
    let now = context.clock.steady
    guard let record, let seconds = try expiry(of: identity, now: now, subject, record) else { return false }
    _ = writeOutcomeKey(event, expiring: seconds)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value), !StoredExpiry.isOver(value.bytes, before: now) else {
      return false
    }
    do throws(StoreError) {
      Self.write(try RememberedOutcome(value.bytes), of: event.subject, event.id, isDuplicate: true, to: reply)
    } catch { throw damaged(key.bytes, of: subject.name, error, malformed: true) }
    return true
  }

  /// When the outcome of the event with that hash expires, in seconds since 1970; nil when none is known.
  private func expiry(
    of identity: UInt64, now: Int64, _ subject: Subject, _ record: SubjectRecordView
  ) throws(RequestError) -> UInt32? {
    if let seconds = record.recent.seconds(of: identity) { return seconds }
    if subject.earlier == nil || subject.mayHaveSeenEarlier(identity),
      let seconds = try earlier(subject, record, now: now)?.seconds(of: identity)
    {
      return seconds
    }
    guard Int64(record.until.single) * 1_000_000 > now else { return nil }
    key.removeAll()
    StoreKey.outcomeIndex(subject.name, hash: identity, into: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value), let expiry = StoredExpiry.read(value.bytes) else { return nil }
    return UInt32(clamping: expiry / 1_000_000)
  }

  /// The subject's earlier events, read when somebody asks for the first time; nil when there are none.
  private func earlier(
    _ subject: Subject, _ record: SubjectRecordView, now: Int64
  ) throws(RequestError) -> RecentEvents? {
    guard Int64(record.until.earlier) * 1_000_000 > now else { return nil }
    if let known = subject.earlier { return EarlierEvents.read(known.bytes) }
    key.removeAll()
    StoreKey.earlierEvents(subject.name, into: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return nil }
    keepEarlier(value.bytes, of: subject)
    return EarlierEvents.read(value.bytes)
  }

  private func keepEarlier(_ value: UnsafeRawBufferPointer, of subject: Subject) {
    let cost = subject.cost
    subject.keepEarlier(value)
    cache.changed(by: subject.cost - cost)
  }

  /// The outcomes that are remembered of a subject, with their keys, in about the order in which they were committed.
  func remembered(_ subject: Subject, _ record: SubjectRecordView?) throws(RequestError) -> [(
    key: [UInt8], value: [UInt8]
  )] {
    var times: Set<UInt32> = []
    if let record {
      for index in 0..<record.recent.count { times.insert(record.recent[index].seconds) }
      if let earlier = try earlier(subject, record, now: 0) {
        for index in 0..<earlier.count { times.insert(earlier[index].seconds) }
      }
    }
    for entry in try readAll(.outcomeIndex, subject.name) {
      if let expiry = entry.value.withUnsafeBytes({ StoredExpiry.read($0) }) {
        times.insert(UInt32(clamping: expiry / 1_000_000))
      }
    }
    var found: [(key: [UInt8], value: [UInt8])] = []
    for seconds in times.sorted() {
      let prefix = StoreKey.bytes { StoreKey.outcomePrefix(expiring: seconds, subject.name, into: $0) }
      found += try readAll(prefix: prefix, of: subject.name)
    }
    return found
  }

  /// Adds the outcome to the batch, and the event to `recent`, which becomes the record's list; answers until when others have to be asked for.
  func remember(
    _ event: EventInput, identity: UInt64, outcome: RememberedOutcome, subject: Subject,
    record: SubjectRecordView?
  ) throws(RequestError) -> RememberedUntil {
    let now = context.clock.steady
    let expiry = now + context.dedupWindow
    let seconds = UInt32(clamping: (expiry + 999_999) / 1_000_000)
    let hasID = writeOutcomeKey(event, expiring: seconds)
    value.removeAll()
    outcome.write(expiring: expiry, id: hasID ? UnsafeRawBufferPointer(start: nil, count: 0) : event.id, into: value)
    batch.writes.put(key.bytes, value.bytes)
    var until = keepRecent(record, now: now)
    if recent.count >= Self.recentEvents, let record {
      try makeEarlier(of: subject, record, now: now, &until)
      recent.removeAll(keepingCapacity: true)
    }
    recent.append(RecentEvent(hash: identity, seconds: seconds))
    return until
  }

  /// Adds the events in `recent` to the subject's earlier ones, or each by itself when there are too many of those.
  private func makeEarlier(
    of subject: Subject, _ record: SubjectRecordView, now: Int64, _ until: inout RememberedUntil
  ) throws(RequestError) {
    moved.removeAll(keepingCapacity: true)
    if let earlier = try earlier(subject, record, now: now) {
      for index in 0..<earlier.count where Int64(earlier[index].seconds) >= now / 1_000_000 {
        moved.append(earlier[index])
      }
    }
    guard moved.count + recent.count <= EarlierEvents.most else {
      for event in recent { writeIndex(of: event, subject, &until) }
      return
    }
    moved.append(contentsOf: recent)
    until.earlier = 0
    for event in moved { until.earlier = max(until.earlier, UInt64(event.seconds)) }
    value.removeAll()
    EarlierEvents.write(moved, expiring: until.earlier, into: value)
    key.removeAll()
    StoreKey.earlierEvents(subject.name, into: key)
    batch.writes.put(key.bytes, value.bytes)
    keepEarlier(value.bytes, of: subject)
  }

  private func writeIndex(of event: RecentEvent, _ subject: Subject, _ until: inout RememberedUntil) {
    until.single = max(until.single, UInt64(event.seconds))
    key.removeAll()
    StoreKey.outcomeIndex(subject.name, hash: event.hash, into: key)
    value.removeAll()
    value.append(bigEndian: UInt64(event.seconds) * 1_000_000)
    batch.writes.put(key.bytes, value.bytes)
  }

  /// Puts the record's recent events that still count into `recent`; answers until when others are remembered.
  func keepRecent(_ record: SubjectRecordView?, now: Int64) -> RememberedUntil {
    recent.removeAll(keepingCapacity: true)
    guard let record else { return RememberedUntil() }
    for index in 0..<record.recent.count {
      let event = record.recent[index]
      if Int64(event.seconds) >= now / 1_000_000 { recent.append(event) }
    }
    return record.until
  }
}
