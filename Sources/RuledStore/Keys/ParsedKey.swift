/// A parsed key of the store; its parts point into that key.
package enum ParsedKey {
  /// The record of a subject.
  case record(subject: UnsafeRawBufferPointer)
  /// A remembered outcome, and when it expires in seconds since 1970.
  case outcome(expiring: UInt32, subject: UnsafeRawBufferPointer, identity: EventIdentity)
  /// The earlier events of a subject.
  case earlierEvents(subject: UnsafeRawBufferPointer)
  /// When the outcome of the event with that hash expires.
  case outcomeIndex(subject: UnsafeRawBufferPointer, hash: UInt64)
  /// What a plugin did once.
  case once(subject: UnsafeRawBufferPointer, plugin: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer)
  /// A timer.
  case timer(subject: UnsafeRawBufferPointer, plugin: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer)
  /// A timer by when it is due, in microseconds since 1970.
  case timerIndex(
    due: Int64, subject: UnsafeRawBufferPointer, plugin: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer)
  /// A message that waits for its subject.
  case message(subject: UnsafeRawBufferPointer, sequence: UInt64)
  /// An effect that has not been delivered.
  case effect(subject: UnsafeRawBufferPointer, sequence: UInt64)
  /// A parked event.
  case parked(subject: UnsafeRawBufferPointer, sequence: UInt64)
  /// A counter.
  case counter(name: UnsafeRawBufferPointer, labels: UnsafeRawBufferPointer)
  /// Something of the daemon's own.
  case daemon(name: UnsafeRawBufferPointer)

  /// The subject that the key belongs to; nil for a counter and the daemon's own.
  package var subject: UnsafeRawBufferPointer? {
    switch self {
    case .record(let subject), .outcome(_, let subject, _), .earlierEvents(let subject), .outcomeIndex(let subject, _),
      .once(let subject, _, _), .timer(let subject, _, _), .timerIndex(_, let subject, _, _),
      .message(let subject, _), .effect(let subject, _), .parked(let subject, _):
      subject
    case .counter, .daemon: nil
    }
  }

  /// What identifies a remembered event among those of its subject.
  package enum EventIdentity {
    /// By its source and id.
    case plain(source: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    /// By a digest of both, since they are long.
    case digest(UnsafeRawBufferPointer)
  }

  /// Parses `key`; throws `corrupt` when it is none of the layouts of `StoreKey`.
  package init(_ key: UnsafeRawBufferPointer) throws(StoreError) {
    guard let first = key.first, let kind = StoreKey.Kind(rawValue: first) else { throw Self.malformed(key) }
    var remaining = UnsafeRawBufferPointer(rebasing: key[1...])
    switch kind {
    case .daemon: self = .daemon(name: remaining)
    case .counter:
      let name = try Self.part(&remaining, of: key)
      self = .counter(name: name, labels: remaining)
    case .timerIndex:
      guard remaining.count >= 8 else { throw Self.malformed(key) }
      let due = Int64(bitPattern: UInt64(bigEndian: remaining.loadUnaligned(as: UInt64.self)) ^ (1 << 63))
      remaining = UnsafeRawBufferPointer(rebasing: remaining[8...])
      let subject = try Self.part(&remaining, of: key)
      let plugin = try Self.part(&remaining, of: key)
      self = .timerIndex(due: due, subject: subject, plugin: plugin, name: remaining)
    case .outcome:
      guard remaining.count >= StoreKey.outcomeTimeBytes else { throw Self.malformed(key) }
      let seconds = UInt32(bigEndian: remaining.loadUnaligned(as: UInt32.self))
      remaining = UnsafeRawBufferPointer(rebasing: remaining[StoreKey.outcomeTimeBytes...])
      let subject = try Self.part(&remaining, of: key)
      self = .outcome(expiring: seconds, subject: subject, identity: try Self.identity(&remaining, of: key))
    case .record, .earlierEvents, .outcomeIndex, .once, .timer, .message, .effect, .parked:
      let subject = try Self.part(&remaining, of: key)
      self = try Self.ofSubject(kind, subject, &remaining, of: key)
    }
  }

  private static func ofSubject(
    _ kind: StoreKey.Kind, _ subject: UnsafeRawBufferPointer, _ remaining: inout UnsafeRawBufferPointer,
    of key: UnsafeRawBufferPointer
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
    case .message: return .message(subject: subject, sequence: try number(remaining, of: key))
    case .effect: return .effect(subject: subject, sequence: try number(remaining, of: key))
    case .parked: return .parked(subject: subject, sequence: try number(remaining, of: key))
    case .outcome, .timerIndex, .counter, .daemon: preconditionFailure("\(kind) does not begin with a subject")
    }
  }

  private static func identity(
    _ remaining: inout UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> EventIdentity {
    if remaining.first == 1 { return .digest(UnsafeRawBufferPointer(rebasing: remaining[1...])) }
    let source = try part(&remaining, of: key)
    return .plain(source: source, id: remaining)
  }

  private static func part(
    _ remaining: inout UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    guard let end = remaining.firstIndex(of: 0) else { throw malformed(key) }
    let part = UnsafeRawBufferPointer(rebasing: remaining[..<end])
    remaining = UnsafeRawBufferPointer(rebasing: remaining[(end + 1)...])
    return part
  }

  private static func number(
    _ remaining: UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> UInt64 {
    guard remaining.count == 8 else { throw malformed(key) }
    return UInt64(bigEndian: remaining.loadUnaligned(as: UInt64.self))
  }

  private static func malformed(_ key: UnsafeRawBufferPointer) -> StoreError {
    StoreError(
      .corrupt, "a key of \(key.count) bytes has no known layout", underlying: String(decoding: key, as: UTF8.self))
  }
}
