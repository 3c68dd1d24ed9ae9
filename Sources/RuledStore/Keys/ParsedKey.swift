package import RuledCore

/// A parsed key of the store; its parts point into that key.
package enum ParsedKey {
  case record(subject: ByteView)
  /// A remembered outcome, and when it expires in seconds since 1970.
  case outcome(expiring: UInt32, subject: ByteView, identity: EventIdentity)
  case earlierEvents(subject: ByteView)
  /// When the outcome of the event with that hash expires.
  case outcomeIndex(subject: ByteView, hash: UInt64)
  case once(subject: ByteView, plugin: ByteView, key: ByteView)
  case timer(subject: ByteView, plugin: ByteView, name: ByteView)
  /// A timer by when it is due, in microseconds since 1970.
  case timerIndex(due: Int64, subject: ByteView, plugin: ByteView, name: ByteView)
  case message(subject: ByteView, sequence: UInt64)
  case effect(subject: ByteView, sequence: UInt64)
  case parked(subject: ByteView, sequence: UInt64)
  case counter(name: ByteView, labels: ByteView)
  case place(subject: ByteView, plugin: ByteView, board: ByteView, generation: UInt64)
  case board(plugin: ByteView, board: ByteView)
  case membership(subject: ByteView, plugin: ByteView, name: ByteView)
  case member(plugin: ByteView, name: ByteView, subject: ByteView)
  /// One worker's change of a topic's member count.
  case memberCount(plugin: ByteView, name: ByteView, worker: UInt64)
  /// A publication under way, or a message behind one.
  case publication(number: UInt64)
  case publicationCursor(number: UInt64)
  case daemon(name: ByteView)

  /// The subject that the key belongs to; nil for a counter, a board, a publication and the daemon's own.
  package var subject: ByteView? {
    switch self {
    case .record(let subject), .outcome(_, let subject, _), .earlierEvents(let subject), .outcomeIndex(let subject, _),
      .once(let subject, _, _), .timer(let subject, _, _), .timerIndex(_, let subject, _, _),
      .message(let subject, _), .effect(let subject, _), .parked(let subject, _), .place(let subject, _, _, _),
      .membership(let subject, _, _), .member(_, _, let subject):
      subject
    case .counter, .board, .memberCount, .publication, .publicationCursor, .daemon: nil
    }
  }

  /// The subject of a record's key; nil for any other key.
  package static func subject(ofRecord key: ByteView) -> ByteView? {
    guard key.count >= 2, key[0] == StoreKey.Kind.record.rawValue, key[key.count - 1] == 0 else { return nil }
    return key.extracting(1..<key.count - 1)
  }

  /// The identity of a remembered event among its subject's.
  package enum EventIdentity {
    /// By its source and id.
    case plain(source: ByteView, id: ByteView)
    /// By a digest of both, since they are long.
    case digest(ByteView)
  }

  /// Parses `key`; throws `corrupt` when it is none of the layouts of `StoreKey`.
  package init(_ key: ByteView) throws(StoreError) {
    guard let first = key.first, let kind = StoreKey.Kind(rawValue: first) else { throw Self.malformed(key) }
    var remaining = key.extracting(1...)
    switch kind {
    case .daemon: self = .daemon(name: remaining)
    case .counter:
      let name = try Self.part(&remaining, of: key)
      self = .counter(name: name, labels: remaining)
    case .board:
      let plugin = try Self.part(&remaining, of: key)
      self = .board(plugin: plugin, board: remaining)
    case .member, .memberCount:
      let plugin = try Self.part(&remaining, of: key)
      let name = try Self.part(&remaining, of: key)
      self =
        kind == .member
        ? .member(plugin: plugin, name: name, subject: remaining)
        : .memberCount(plugin: plugin, name: name, worker: try Self.number(remaining, of: key))
    case .publication: self = .publication(number: try Self.number(remaining, of: key))
    case .publicationCursor: self = .publicationCursor(number: try Self.number(remaining, of: key))
    case .timerIndex:
      guard remaining.count >= 8 else { throw Self.malformed(key) }
      let due = Int64(bitPattern: UInt64(bigEndian: remaining.load(at: 0, as: UInt64.self)) ^ (1 << 63))
      remaining = remaining.extracting(8...)
      let subject = try Self.part(&remaining, of: key)
      let plugin = try Self.part(&remaining, of: key)
      self = .timerIndex(due: due, subject: subject, plugin: plugin, name: remaining)
    case .outcome:
      guard remaining.count >= StoreKey.outcomeTimeBytes else { throw Self.malformed(key) }
      let seconds = UInt32(bigEndian: remaining.load(at: 0, as: UInt32.self))
      remaining = remaining.extracting(StoreKey.outcomeTimeBytes...)
      let subject = try Self.part(&remaining, of: key)
      self = .outcome(expiring: seconds, subject: subject, identity: try Self.identity(&remaining, of: key))
    case .record, .earlierEvents, .outcomeIndex, .once, .timer, .message, .effect, .parked, .place,
      .membership:
      let subject = try Self.part(&remaining, of: key)
      self = try Self.ofSubject(kind, subject, &remaining, of: key)
    }
  }

  private static func ofSubject(
    _ kind: StoreKey.Kind, _ subject: ByteView, _ remaining: inout ByteView, of key: ByteView
  ) throws(StoreError) -> ParsedKey {
    switch kind {
    case .record:
      guard remaining.isEmpty else { throw malformed(key) }
      return .record(subject: subject)
    case .earlierEvents:
      guard remaining.isEmpty else { throw malformed(key) }
      return .earlierEvents(subject: subject)
    case .outcomeIndex: return .outcomeIndex(subject: subject, hash: try number(remaining, of: key))
    case .once:
      let plugin = try part(&remaining, of: key)
      return .once(subject: subject, plugin: plugin, key: remaining)
    case .timer:
      let plugin = try part(&remaining, of: key)
      return .timer(subject: subject, plugin: plugin, name: remaining)
    case .membership:
      let plugin = try part(&remaining, of: key)
      return .membership(subject: subject, plugin: plugin, name: remaining)
    case .message: return .message(subject: subject, sequence: try number(remaining, of: key))
    case .effect: return .effect(subject: subject, sequence: try number(remaining, of: key))
    case .parked: return .parked(subject: subject, sequence: try number(remaining, of: key))
    case .place:
      let plugin = try part(&remaining, of: key)
      let board = try part(&remaining, of: key)
      return .place(subject: subject, plugin: plugin, board: board, generation: try number(remaining, of: key))
    case .outcome, .timerIndex, .counter, .board, .member, .memberCount, .publication, .publicationCursor, .daemon:
      preconditionFailure("\(kind) does not begin with a subject")
    }
  }

  private static func identity(_ remaining: inout ByteView, of key: ByteView) throws(StoreError) -> EventIdentity {
    if remaining.first == 1 { return .digest(remaining.extracting(1...)) }
    let source = try part(&remaining, of: key)
    return .plain(source: source, id: remaining)
  }

  private static func part(_ remaining: inout ByteView, of key: ByteView) throws(StoreError) -> ByteView {
    guard let end = remaining.firstIndex(of: 0) else { throw malformed(key) }
    let part = remaining.extracting(..<end)
    remaining = remaining.extracting((end + 1)...)
    return part
  }

  private static func number(_ remaining: ByteView, of key: ByteView) throws(StoreError) -> UInt64 {
    guard remaining.count == 8 else { throw malformed(key) }
    return UInt64(bigEndian: remaining.load(at: 0, as: UInt64.self))
  }

  private static func malformed(_ key: ByteView) -> StoreError {
    StoreError(
      .corrupt, "a key of \(key.count) bytes has no known layout", underlying: String(decoding: key, as: UTF8.self))
  }
}
