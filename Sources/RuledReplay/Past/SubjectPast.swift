package import RuledCore
package import RuledEngine
package import RuledJournal
package import RuledLua
package import RuledStore

/// The past of one subject: replays its entries under the rules of that time, from the last known state before them.
///
/// A subject depends on its own entries alone, since messages to it are among them. It belongs to one thread.
package final class SubjectPast {
  private static let mostEntries = 200_000

  package enum Moment: Sendable, Equatable {
    /// After the event that made this version.
    case version(UInt64)
    case time(Timestamp)
    /// Right before the last event with that id.
    case event(id: String)
  }

  let subject: String
  private let journal: any JournalSource
  private let configuration: Configuration
  private let lua: LuaWorker
  /// The content of a revision; throws when it is not kept.
  private let loadRevision: (_ revision: String) throws(StoreError) -> RevisionArchive.Revision
  /// Copies a subject's data from a snapshot.
  private let loadBase: (_ snapshot: JournalSnapshot, _ subject: String) throws(StoreError) -> MemoryStore
  private var catalogs: [String: Catalog] = [:]

  /// The past of a subject in a journal; `lua` is the calling thread's worker.
  ///
  /// `revision` gives the content of a revision or throws when it is not kept, and `base` copies a subject's data from a snapshot.
  package init(
    of subject: String, in journal: any JournalSource, configuration: Configuration, lua: LuaWorker,
    revision: @escaping (_ revision: String) throws(StoreError) -> RevisionArchive.Revision,
    base: @escaping (_ snapshot: JournalSnapshot, _ subject: String) throws(StoreError) -> MemoryStore
  ) {
    self.subject = subject
    self.journal = journal
    self.configuration = configuration
    self.lua = lua
    loadRevision = revision
    loadBase = base
  }

  // MARK: States and explanations

  /// The subject's state at a moment, as the method `state` shows it, with the time `at` and the `revision` of the last event before, and with the
  /// other parts of `export` that rules depend on: timers, `once` keys, topics and boards.
  ///
  /// - Throws: `not_found` if the subject did not exist then, or the journal does not reach back so far; `unavailable` if the replay does not
  ///   result in the recorded state.
  package func state(at moment: Moment) throws(RequestError) -> JSONValue {
    let entries = try entries(until: moment)
    guard let last = entries.last, last.origin != .forget else { throw notFound(moment) }
    let world = try replay(entries)
    var state: JSONObject = [
      "subject": .string(subject), "version": .integer(Int64(last.version)), "plugins": [:],
      "at": .string(last.at.exactRFC3339), "revision": .string(last.revision),
    ]
    for (name, value) in content(of: world) { state[name] = value }
    return .object(state)
  }

  /// The states of the subject in a world, and the other parts of `export` that rules depend on.
  private func content(of world: World) -> JSONObject {
    let known = (try? world.evaluator.export(of: subject))?.objectValue ?? [:]
    return JSONObject(
      ["plugins", "timers", "once", "topics", "boards"].map { name in
        (name: name, value: known[name] ?? (name == "plugins" ? [:] : []))
      })
  }

  /// Explains a past event: what the rules of that time decided and why, and what `other` rules would have decided.
  ///
  /// - Returns: `{sequence, at, subject, origin, first_origin?, sender?, event, revision, redacted?, state?, outcome, recorded?, differs?, other?}`; `state` is the one
  ///   before the event, both outcomes have a `trace`, and `other` is `{revision, outcome, changes}`, the `changes`
  ///   being the places at which the subject differs afterwards: `{path, before?, after?}`. Where the replay does not give the recorded outcome
  ///   again, `recorded` has that one, and `differs` says why; where `redacted` lists paths, values of the event were replaced. Where it `omitsValues`, the state and the values that rules read are left out.
  package func explain(
    event id: String, other: Catalog? = nil, omitsValues: Bool = false
  ) throws(RequestError) -> JSONValue {
    var entries = try entries(until: .event(id: id))
    guard let target = entries.popLast() else { throw notFound(.event(id: id)) }
    let world = try replay(entries, before: target)
    let event = (try? JSONValue(parsing: target.event.text)) ?? .null
    var past: JSONObject = [
      "sequence": .integer(Int64(clamping: target.sequence)), "at": .string(target.at.exactRFC3339),
      "now": .string(target.now.exactRFC3339), "subject": .string(subject), "origin": .string(target.origin.rawValue),
      "event": event, "revision": .string(target.revision),
    ]
    switch target.origin {
    case .message: past["sender"] = event["from"]
    case .retry:
      past["first_origin"] = event["origin"] ?? "client"
      past["sender"] = event["sender"]
    case .client, .timer, .forget, .rules, .kept: break
    }
    if !target.redacted.isEmpty { past["redacted"] = .array(target.redacted.map { .string($0) }) }
    if !omitsValues { past["state"] = (try? world.state(of: subject))?["plugins"] ?? [:] }
    world.adopt(try catalog(target.revision))
    let outcome = try world.playExplained(target, omitsValues: omitsValues)
    past["outcome"] = outcome ?? .null
    if target.outcome.contains(where: { outcome?[$0.name] != $0.value }) {
      past["recorded"] = .object(target.outcome)
      past["differs"] = .string(Self.difference(from: target))
    }
    if let other {
      let beside = try replay(entries, before: target)
      beside.isImposed = { [recorded = try catalog(target.revision)] plugin in
        guard let then = recorded.plugins.first(where: { $0.name == plugin }) else { return false }
        return other.plugins.contains { $0.name == plugin && $0.source == then.source }
      }
      beside.adopt(other)
      let outcome = try beside.playExplained(target, omitsValues: omitsValues) ?? .null
      let changes = JSONDifference.between(.object(content(of: world)), .object(content(of: beside)), byName: true)
      past["other"] = [
        "revision": .string(other.revision), "outcome": outcome,
        "changes": .array(changes.map { $0.json(omitsValues: omitsValues) }),
      ]
    }
    return .object(past)
  }

  /// The subject's recorded events up to a moment, the earliest first.
  func entries(until moment: Moment) throws(RequestError) -> [JournalEntry] {
    var entries: [JournalEntry] = []
    var end = 0
    var range = JournalRange()
    range.subject = subject
    var isTooLong = false
    do throws(StoreError) {
      try journal.forEach(in: range) { entry in
        guard entries.count < Self.mostEntries else {
          isTooLong = true
          return false
        }
        entries.append(entry)
        if isLast(entry, moment) { end = entries.count }
        if case .version(let version) = moment { return entry.version <= version || entry.origin == .forget }
        return true
      }
    } catch { throw RequestError(.unavailable, "the journal can't be read: \(error)") }
    guard !isTooLong else {
      throw RequestError(
        .unavailable,
        "the subject '\(subject)' has more than \(Self.mostEntries) events in the journal, too many to replay")
    }
    return Array(entries.prefix(end))
  }

  private func isLast(_ entry: JournalEntry, _ moment: Moment) -> Bool {
    switch moment {
    case .version(let version): entry.version == version
    // All entries are read: a clock that went back gives later ones earlier times.
    case .time(let time): entry.at <= time
    case .event(let id): entry.isEvent && entry.eventID == id
    }
  }

  private func notFound(_ moment: Moment) -> RequestError {
    let what =
      switch moment {
      case .version(let version): "has no version \(version)"
      case .time(let time): "has no event up to \(time.rfc3339)"
      case .event(let id): "has no event '\(id)'"
      }
    let damages = Self.bounds(of: journal.gaps.filter(\.isDamage))
    return RequestError(
      .notFound,
      "the subject '\(subject)' \(what) in the journal; 'rulectl log' lists what it holds"
        + (damages.isEmpty ? "" : "; it lacks sequences \(damages)"))
  }

  // MARK: Replaying

  /// A world in which the entries were replayed; `next` is the entry that will follow.
  private func replay(_ entries: [JournalEntry], before next: JournalEntry? = nil) throws(RequestError) -> World {
    guard let last = next ?? entries.last else { throw notFound(.time(Timestamp(microseconds: 0))) }
    let all = entries + (next.map { [$0] } ?? [])
    let (store, first) = try base(of: all)
    // The next entry is among them, so that its counterpart in this world does not happen before.
    var history = RecordedHistory(all[min(first, entries.count)...])
    history.isPlayed = { [subject] in $0 == subject }
    let start = entries[min(first, entries.count)...].first { !$0.revision.isEmpty } ?? last
    let world = try World(
      rules: try catalog(start.revision), lua: lua, base: store, configuration: configuration, recorded: history)
    for entry in entries[min(first, entries.count)...] {
      if !entry.revision.isEmpty { world.adopt(try catalog(entry.revision)) }
      let played = try world.play(entry)
      guard entry.isEvent else { continue }
      guard let same = played.first(where: \.isRecorded), same.entry.digests == entry.digests else {
        throw differs(entry)
      }
    }
    return world
  }

  /// Where a replay of the entries begins: the store, and the index of the first entry that is not in it.
  private func base(of entries: [JournalEntry]) throws(RequestError) -> (store: MemoryStore, first: Int) {
    guard let last = entries.last else { return (MemoryStore(), 0) }
    let start = (entries.dropLast().lastIndex { $0.origin == .forget }).map { $0 + 1 } ?? 0
    let isBeginning = entries[start].version == 1 || entries[start].origin == .kept
    if isBeginning, isWhole(entries[start...]) { return (MemoryStore(), start) }
    guard let snapshot = journal.bases.last(where: { $0.sequence < last.sequence }) else {
      let gap = journal.withoutBase(through: last.sequence)
      let reason = gap.map { "sequences \($0.first) to \($0.last) can't be replayed: \($0.reason)" }
      throw RequestError(
        .notFound,
        "the journal has the events of '\(subject)' from version \(entries[start].version) on, and nothing to replay them "
          + "from up to the one that is asked for" + (reason.map { "; \($0)" } ?? "")
          + "; to look back further, raise journal.keep or journal.max_gib, or lower journal.snapshot")
    }
    let first = entries.firstIndex { $0.sequence > snapshot.sequence } ?? entries.count
    let store: MemoryStore
    do throws(StoreError) { store = try loadBase(snapshot, subject) } catch { throw error.requestError }
    guard isWhole(entries[first...], after: try Self.version(of: subject, in: store)) else {
      let gaps = journal.gaps.filter { $0.first > snapshot.sequence && $0.first < last.sequence }
      throw RequestError(
        .notFound,
        "events of '\(subject)' are missing in the journal, so its state can't be told: sequences \(Self.bounds(of: gaps))"
      )
    }
    return (store, first)
  }

  private static func bounds(of gaps: [JournalGap]) -> String {
    gaps.map { "\($0.first) to \($0.last) (\($0.reason))" }.joined(separator: ", ")
  }

  /// The version that a store has of a subject; 0 if it has none.
  private static func version(of subject: String, in store: MemoryStore) throws(RequestError) -> UInt64 {
    let record = ByteBuffer(capacity: 1024)
    defer { withExtendedLifetime(record) {} }
    do throws(StoreError) {
      let key = StoreKey.bytes { StoreKey.record(subject, into: $0) }
      guard try key.withView({ (key) throws(StoreError) in try store.get(key, into: record) }) else { return 0 }
      return try SubjectRecordView(record.bytes).version
    } catch { throw error.requestError }
  }

  /// Whether no event is missing between the entries, the first of which follows version `known`, any if that is nil.
  private func isWhole(_ entries: ArraySlice<JournalEntry>, after known: UInt64? = nil) -> Bool {
    var version = known
    for entry in entries {
      defer { version = entry.version }
      guard let previous = version else { continue }
      switch entry.origin {
      case .forget, .rules, .kept: continue
      case .retry: if entry.version != previous { return false }
      case .client, .message, .timer: if entry.version != previous + 1 { return false }
      }
    }
    return true
  }

  /// Why the replay of an entry may not give the recorded outcome.
  private static func difference(from entry: JournalEntry) -> String {
    entry.redacted.isEmpty
      ? "its replay does not give what was recorded"
      : "\(entry.redacted.joined(separator: ", ")) was redacted in the journal, so its replay has a digest in place of the value"
  }

  private func differs(_ entry: JournalEntry) -> RequestError {
    let reason = Self.difference(from: entry)
    return RequestError(
      .unavailable,
      "the past of '\(subject)' can't be shown from event \(entry.sequence) at \(entry.at.rfc3339) on: \(reason)")
  }

  private func catalog(_ revision: String) throws(RequestError) -> Catalog {
    if let known = catalogs[revision] { return known }
    let content: RevisionArchive.Revision
    do throws(StoreError) { content = try loadRevision(revision) } catch {
      throw RequestError(.notFound, "the rules of then are not kept: \(error)")
    }
    do throws(ReloadError) {
      let catalog = try CatalogBuilder.build(
        content.rules, configuration: content.configuration, previous: nil, worker: lua, now: content.entry.loadedAt)
      catalogs[revision] = catalog
      return catalog
    } catch {
      let reasons = error.errors.map(\.description).joined(separator: "; ")
      throw RequestError(.unavailable, "the rules of revision \(revision) do not load any more: \(reasons)")
    }
  }
}
