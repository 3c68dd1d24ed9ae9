import RuledCore
import RuledStore

/// Idempotency: what an event came to is remembered, and given again to whoever repeats it.
extension Evaluator {
  /// What a record tells an event by: a hash of its source and id.
  static func identity(_ event: EventInput) -> UInt64 { hash64(event.id, seed: hash64(event.source, seed: 1)) }

  /// Puts the key of an event's outcome into `key`.
  func writeOutcomeKey(_ event: EventInput) {
    key.removeAll()
    guard event.source.count + event.id.count > StoreKey.longestPlainIdentity else {
      StoreKey.outcome(event.subject, source: event.source, id: event.id, into: key)
      return
    }
    var hash = SHA256()
    hash.update(event.source)
    hash.update("\0")
    hash.update(event.id)
    StoreKey.outcome(event.subject, digest: hash.finish().bytes, into: key)
  }

  /// Appends the outcome of the event if it is a repeat, and says whether it is.
  func appendRemembered(
    _ event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?, to reply: ByteBuffer
  ) throws(RequestError) -> Bool {
    guard let record else { return false }
    let isRecent = record.seconds(ofRecent: identity) != nil
    guard isRecent || Int64(record.overflowUntil) * 1_000_000 > event.now else { return false }
    writeOutcomeKey(event)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value), !StoredExpiry.isOver(value.bytes, before: event.now) else {
      return false
    }
    let outcome = UnsafeRawBufferPointer(rebasing: value.bytes[StoredExpiry.byteCount...])
    Self.append(duplicate: outcome, to: reply)
    return true
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
    _ event: EventInput, identity: UInt64, outcome: UnsafeRawBufferPointer, record: SubjectRecordView?
  ) -> UInt64 {
    let window = context.dedupWindow
    let expiry = event.now + window
    writeOutcomeKey(event)
    value.removeAll()
    value.append(bigEndian: UInt64(bitPattern: expiry))
    value.append(outcome)
    unit.writes.put(key.bytes, value.bytes)
    var overflowUntil = keepRecent(record, now: event.now)
    if recent.count >= Self.recentEvents {
      let oldest = recent.removeFirst()
      overflowUntil = max(overflowUntil, UInt64(oldest.seconds) + UInt64(window / 1_000_000) + 1)
    }
    recent.append(RecentEvent(hash: identity, seconds: UInt32(clamping: event.now / 1_000_000)))
    return overflowUntil
  }

  /// Puts the record's recent events that still count into `recent`; answers its overflow.
  func keepRecent(_ record: SubjectRecordView?, now: Int64) -> UInt64 {
    recent.removeAll(keepingCapacity: true)
    guard let record else { return 0 }
    let oldest = (now - context.dedupWindow) / 1_000_000
    for index in 0..<record.recentCount {
      let event = record.recentEvent(at: index)
      if Int64(event.seconds) >= oldest { recent.append(event) }
    }
    return record.overflowUntil
  }
}
