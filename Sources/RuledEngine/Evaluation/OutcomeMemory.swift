import RuledCore
import RuledJSON
import RuledStore

/// Remembers the outcomes of events for the deduplication window, so that a repeat gets the first outcome.
///
/// A subject's events are listed in up to three places: the latest in its record, up to 128 before those in one value (`EarlierEvents`), and the others
/// with a key each. An event is known by a hash of its source and id; its outcome is stored under a key that begins with the expiry.
///
/// All times are steady times: a wall clock that jumps ahead must not make anything be forgotten.
final class OutcomeMemory {
  /// How many events a record lists itself.
  static let recentEvents = 16

  /// The events that a subject's next record lists, and until when others are remembered.
  struct History {
    /// The latest events, the oldest first.
    var recent: [RecentEvent] = []
    /// Until when events are remembered that the record does not list.
    var until = RememberedUntil()
  }

  private let context: EngineContext
  private let batches: BatchQueue
  private let subjects: SubjectCache
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)
  private var moved: [RecentEvent] = []

  init(_ context: EngineContext, batches: BatchQueue, subjects: SubjectCache) {
    self.context = context
    self.batches = batches
    self.subjects = subjects
  }

  /// The hash by which an event is listed; it is stored and must never change.
  static func identity(of event: EventInput) -> UInt64 { hash64(event.id, seed: hash64(event.source, seed: 1)) }

  /// The digest of an event's type and data, by which a repeat is compared with the first event; it is stored and must never change.
  static func digest(of event: EventInput) -> UInt64 {
    // Bytes differ from the text that encodes them.
    let bytes = event.attributes?.member("data_base64").map { ~$0.digest }
    return hash64(event.type, seed: event.data?.digest ?? bytes ?? TapeValue.emptyObjectDigest)
  }

  // MARK: Recalling

  /// The outcome of the event if it is a repeat; valid until the next call.
  func recall(
    _ event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?
  ) throws(RequestError) -> RememberedOutcome? {
    let now = context.clock.steady
    guard let record, let seconds = try expiry(of: identity, now: now, subject, record) else { return nil }
    _ = writeOutcomeKey(of: event, expiring: seconds)
    guard try batches.read(key.bytes, of: subject, into: value), !StoredExpiry.isOver(value.bytes, before: now) else {
      return nil
    }
    do throws(StoreError) { return try RememberedOutcome(value.bytes) } catch {
      throw batches.unreadable(key.bytes, of: subject.name, error, malformed: true)
    }
  }

  /// When the outcome of the event with that hash expires, in seconds since 1970; nil when none is known.
  private func expiry(
    of identity: UInt64, now: Int64, _ subject: Subject, _ record: SubjectRecordView
  ) throws(RequestError) -> UInt32? {
    if let seconds = record.recent.seconds(of: identity) { return seconds }
    if subject.earlier == nil || subject.mayHaveSeenEarlier(identity),
      let seconds = try earlierEvents(of: subject, record, now: now)?.seconds(of: identity)
    {
      return seconds
    }
    guard Int64(record.until.single) * 1_000_000 > now else { return nil }
    StoreKey.numbered(.outcomeIndex, subject.name, identity, into: key)
    guard try batches.read(key.bytes, of: subject, into: value), let expiry = StoredExpiry.read(value.bytes) else {
      return nil
    }
    return UInt32(clamping: expiry / 1_000_000)
  }

  /// The subject's earlier events, read from the store on first use; nil when there are none.
  private func earlierEvents(
    of subject: Subject, _ record: SubjectRecordView, now: Int64
  ) throws(RequestError) -> RecentEvents? {
    guard Int64(record.until.earlier) * 1_000_000 > now else { return nil }
    if let known = subject.earlier { return EarlierEvents.read(known.bytes) }
    StoreKey.earlierEvents(subject.name, into: key)
    guard try batches.read(key.bytes, of: subject, into: value) else { return nil }
    subjects.setEarlier(value.bytes, of: subject)
    return EarlierEvents.read(value.bytes)
  }

  // MARK: Remembering

  /// Adds the outcome to the batch, and puts the events that the subject's next record lists into `history`, this one last.
  func remember(
    _ outcome: RememberedOutcome, of event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?,
    history: inout History
  ) throws(RequestError) {
    let now = context.clock.steady
    let expiry = now + context.dedupWindow
    let seconds = UInt32(clamping: (expiry + 999_999) / 1_000_000)
    let keyHasID = writeOutcomeKey(of: event, expiring: seconds)
    value.removeAll()
    outcome.write(
      expiring: expiry, id: keyHasID ? ByteView.empty : event.id, digest: Self.digest(of: event), into: value)
    batches.current.writes.put(key.bytes, value.bytes)
    readHistory(of: record, now: now, into: &history)
    if history.recent.count >= Self.recentEvents, let record {
      try moveRecent(of: subject, record, now: now, &history)
      history.recent.removeAll(keepingCapacity: true)
    }
    history.recent.append(RecentEvent(hash: identity, seconds: seconds))
  }

  /// Puts the events of the present record that are not yet forgotten into `history`.
  func readHistory(of record: SubjectRecordView?, into history: inout History) {
    readHistory(of: record, now: context.clock.steady, into: &history)
  }

  private func readHistory(of record: SubjectRecordView?, now: Int64, into history: inout History) {
    history.recent.removeAll(keepingCapacity: true)
    history.until = record?.until ?? RememberedUntil()
    guard let record else { return }
    for index in 0..<record.recent.count {
      let event = record.recent[index]
      if Int64(event.seconds) >= now / 1_000_000 { history.recent.append(event) }
    }
  }

  /// Moves the recent events to the subject's earlier ones, or gives each a key of its own when there are too many of those.
  private func moveRecent(
    of subject: Subject, _ record: SubjectRecordView, now: Int64, _ history: inout History
  ) throws(RequestError) {
    moved.removeAll(keepingCapacity: true)
    if let earlier = try earlierEvents(of: subject, record, now: now) {
      for index in 0..<earlier.count where Int64(earlier[index].seconds) >= now / 1_000_000 {
        moved.append(earlier[index])
      }
    }
    guard moved.count + history.recent.count <= EarlierEvents.most else {
      for event in history.recent { writeIndex(of: event, subject, &history.until) }
      return
    }
    moved.append(contentsOf: history.recent)
    history.until.earlier = 0
    for event in moved { history.until.earlier = max(history.until.earlier, UInt64(event.seconds)) }
    value.removeAll()
    EarlierEvents.write(moved, expiring: history.until.earlier, into: value)
    StoreKey.earlierEvents(subject.name, into: key)
    batches.current.writes.put(key.bytes, value.bytes)
    subjects.setEarlier(value.bytes, of: subject)
  }

  private func writeIndex(of event: RecentEvent, _ subject: Subject, _ until: inout RememberedUntil) {
    until.single = max(until.single, UInt64(event.seconds))
    StoreKey.numbered(.outcomeIndex, subject.name, event.hash, into: key)
    value.removeAll()
    value.append(bigEndian: UInt64(event.seconds) * 1_000_000)
    batches.current.writes.put(key.bytes, value.bytes)
  }

  /// Puts the key of an event's outcome into `key`.
  ///
  /// - Returns: whether the key holds the event's id. A long id is replaced with a digest.
  private func writeOutcomeKey(of event: EventInput, expiring seconds: UInt32) -> Bool {
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

  // MARK: Listing

  /// The remembered outcomes of a subject, with their keys, in about the order in which they were committed.
  func all(of subject: Subject, _ record: SubjectRecordView?) throws(RequestError) -> [StoredPair] {
    var times: Set<UInt32> = []
    if let record {
      for index in 0..<record.recent.count { times.insert(record.recent[index].seconds) }
      if let earlier = try earlierEvents(of: subject, record, now: 0) {
        for index in 0..<earlier.count { times.insert(earlier[index].seconds) }
      }
    }
    for pair in try batches.readAll(.outcomeIndex, of: subject.name) {
      if let expiry = pair.value.withView({ StoredExpiry.read($0) }) {
        times.insert(UInt32(clamping: expiry / 1_000_000))
      }
    }
    var found: [StoredPair] = []
    for seconds in times.sorted() {
      let prefix = StoreKey.bytes { StoreKey.outcomePrefix(expiring: seconds, subject.name, into: $0) }
      found += try batches.readAll(prefix: prefix, of: subject.name)
    }
    return found
  }
}
