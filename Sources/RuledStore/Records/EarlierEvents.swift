package import RuledCore

/// The events of a subject that its record has no room for any longer though their outcomes are remembered, as one value.
///
/// | bytes | what |
/// | --- | --- |
/// | 8 | when the last of them expires, in microseconds since 1970 |
/// | … | the events, as `RecentEvents` reads them |
package enum EarlierEvents {
  /// How many there may be; those beyond have a key each.
  package static let most = 128

  /// Appends the value that holds `events` and expires at `seconds` since 1970.
  package static func write(_ events: [RecentEvent], expiring seconds: UInt64, into buffer: ByteBuffer) {
    buffer.append(bigEndian: seconds * 1_000_000)
    for event in events { RecentEvents.append(event, to: buffer) }
  }

  /// The events in `value`.
  package static func read(_ value: UnsafeRawBufferPointer) -> RecentEvents {
    RecentEvents(UnsafeRawBufferPointer(rebasing: value.dropFirst(StoredExpiry.byteCount)))
  }
}

/// Until when events are remembered that a subject's record does not list, in seconds since 1970; 0 is never.
package struct RememberedUntil: Equatable, Sendable {
  /// The last one of its `EarlierEvents`.
  package var earlier: UInt64
  /// The last one that has a key of its own.
  package var single: UInt64

  /// Times.
  package init(earlier: UInt64 = 0, single: UInt64 = 0) {
    self.earlier = earlier
    self.single = single
  }
}
