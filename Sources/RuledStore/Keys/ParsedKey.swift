/// A stored key taken apart; the parts lie in the key that was read.
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

  /// How a remembered event is told from the others of its subject.
  package enum EventIdentity {
    /// By its source and id.
    case plain(source: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    /// By a digest of both, since they are long.
    case digest(UnsafeRawBufferPointer)
  }

  /// Takes `key` apart; throws `corrupt` when it is none of the layouts of `StoreKey`.
  package init(_ key: UnsafeRawBufferPointer) throws(StoreError) {
    guard let first = key.first, let kind = StoreKey.Kind(rawValue: first) else { throw Self.malformed(key) }
    var rest = UnsafeRawBufferPointer(rebasing: key[1...])
    switch kind {
    case .daemon: self = .daemon(name: rest)
    case .counter:
      let name = try Self.part(&rest, of: key)
      self = .counter(name: name, labels: rest)
    case .timerIndex:
      guard rest.count >= 8 else { throw Self.malformed(key) }
      let due = Int64(bitPattern: UInt64(bigEndian: rest.loadUnaligned(as: UInt64.self)) ^ (1 << 63))
      rest = UnsafeRawBufferPointer(rebasing: rest[8...])
      let subject = try Self.part(&rest, of: key)
      let plugin = try Self.part(&rest, of: key)
      self = .timerIndex(due: due, subject: subject, plugin: plugin, name: rest)
    case .outcome:
      guard rest.count >= StoreKey.outcomeTimeBytes else { throw Self.malformed(key) }
      let seconds = UInt32(bigEndian: rest.loadUnaligned(as: UInt32.self))
      rest = UnsafeRawBufferPointer(rebasing: rest[StoreKey.outcomeTimeBytes...])
      let subject = try Self.part(&rest, of: key)
      self = .outcome(expiring: seconds, subject: subject, identity: try Self.identity(&rest, of: key))
    case .record, .earlierEvents, .outcomeIndex, .once, .timer, .message, .effect, .parked:
      let subject = try Self.part(&rest, of: key)
      self = try Self.ofSubject(kind, subject, &rest, of: key)
    }
  }

  private static func ofSubject(
    _ kind: StoreKey.Kind, _ subject: UnsafeRawBufferPointer, _ rest: inout UnsafeRawBufferPointer,
    of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> ParsedKey {
    switch kind {
    case .record:
      guard rest.isEmpty else { throw malformed(key) }
      return .record(subject: subject)
    case .earlierEvents:
      guard rest.isEmpty else { throw malformed(key) }
      return .earlierEvents(subject: subject)
    case .outcomeIndex: return .outcomeIndex(subject: subject, hash: try number(rest, of: key))
    case .once:
      let plugin = try part(&rest, of: key)
      return .once(subject: subject, plugin: plugin, key: rest)
    case .timer:
      let plugin = try part(&rest, of: key)
      return .timer(subject: subject, plugin: plugin, name: rest)
    case .message: return .message(subject: subject, sequence: try number(rest, of: key))
    case .effect: return .effect(subject: subject, sequence: try number(rest, of: key))
    case .parked: return .parked(subject: subject, sequence: try number(rest, of: key))
    case .outcome, .timerIndex, .counter, .daemon: preconditionFailure("\(kind) does not begin with a subject")
    }
  }

  private static func identity(
    _ rest: inout UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> EventIdentity {
    if rest.first == 1 { return .digest(UnsafeRawBufferPointer(rebasing: rest[1...])) }
    let source = try part(&rest, of: key)
    return .plain(source: source, id: rest)
  }

  private static func part(
    _ rest: inout UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    guard let end = rest.firstIndex(of: 0) else { throw malformed(key) }
    let part = UnsafeRawBufferPointer(rebasing: rest[..<end])
    rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
    return part
  }

  private static func number(
    _ rest: UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer
  ) throws(StoreError) -> UInt64 {
    guard rest.count == 8 else { throw malformed(key) }
    return UInt64(bigEndian: rest.loadUnaligned(as: UInt64.self))
  }

  private static func malformed(_ key: UnsafeRawBufferPointer) -> StoreError {
    StoreError(
      .corrupt, "a key of \(key.count) bytes has no known layout", underlying: String(decoding: key, as: UTF8.self))
  }
}
