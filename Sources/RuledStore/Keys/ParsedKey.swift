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
    var parts = Parts(key)
    guard let first = key.first, let kind = StoreKey.Kind(rawValue: first) else { throw parts.malformed }
    switch kind {
    case .record: self = .record(subject: try parts.last())
    case .earlierEvents: self = .earlierEvents(subject: try parts.last())
    case .outcome:
      self = .outcome(expiring: try parts.number(), subject: try parts.next(), identity: try parts.identity())
    case .outcomeIndex: self = .outcomeIndex(subject: try parts.next(), hash: try parts.lastNumber())
    case .once: self = .once(subject: try parts.next(), plugin: try parts.next(), key: parts.rest)
    case .timer: self = .timer(subject: try parts.next(), plugin: try parts.next(), name: parts.rest)
    case .timerIndex:
      let due = Int64(bitPattern: try parts.number() ^ (1 << 63))
      self = .timerIndex(due: due, subject: try parts.next(), plugin: try parts.next(), name: parts.rest)
    case .message: self = .message(subject: try parts.next(), sequence: try parts.lastNumber())
    case .effect: self = .effect(subject: try parts.next(), sequence: try parts.lastNumber())
    case .parked: self = .parked(subject: try parts.next(), sequence: try parts.lastNumber())
    case .counter: self = .counter(name: try parts.next(), labels: parts.rest)
    case .place:
      self = .place(
        subject: try parts.next(), plugin: try parts.next(), board: try parts.next(),
        generation: try parts.lastNumber())
    case .board: self = .board(plugin: try parts.next(), board: parts.rest)
    case .membership: self = .membership(subject: try parts.next(), plugin: try parts.next(), name: parts.rest)
    case .member: self = .member(plugin: try parts.next(), name: try parts.next(), subject: parts.rest)
    case .memberCount:
      self = .memberCount(plugin: try parts.next(), name: try parts.next(), worker: try parts.lastNumber())
    case .publication: self = .publication(number: try parts.lastNumber())
    case .publicationCursor: self = .publicationCursor(number: try parts.lastNumber())
    case .daemon: self = .daemon(name: parts.rest)
    }
  }

  /// The parts of a key behind its kind, from front to back.
  private struct Parts {
    let key: ByteView
    private(set) var rest: ByteView

    init(_ key: ByteView) {
      self.key = key
      rest = key.extracting(droppingFirst: 1)
    }

    /// The part up to the next zero byte.
    mutating func next() throws(StoreError) -> ByteView {
      guard let end = rest.firstIndex(of: 0) else { throw malformed }
      defer { rest = rest.extracting((end + 1)...) }
      return rest.extracting(..<end)
    }

    /// The part up to the zero byte with which the key ends.
    mutating func last() throws(StoreError) -> ByteView {
      let part = try next()
      guard rest.isEmpty else { throw malformed }
      return part
    }

    mutating func number<Number: FixedWidthInteger>() throws(StoreError) -> Number {
      let count = MemoryLayout<Number>.size
      guard rest.count >= count else { throw malformed }
      defer { rest = rest.extracting(count...) }
      return Number(bigEndian: rest.load(at: 0, as: Number.self))
    }

    /// The number with which the key ends.
    mutating func lastNumber() throws(StoreError) -> UInt64 {
      guard rest.count == 8 else { throw malformed }
      return try number()
    }

    mutating func identity() throws(StoreError) -> EventIdentity {
      rest.first == 1 ? .digest(rest.extracting(1...)) : .plain(source: try next(), id: rest)
    }

    var malformed: StoreError {
      StoreError(.corrupt, "a key of \(key.count) bytes has no known layout", underlying: key.text)
    }
  }
}
