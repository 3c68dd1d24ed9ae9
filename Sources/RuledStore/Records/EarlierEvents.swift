package import RuledCore

/// Events of a subject that its record has no room for though their outcomes are remembered, as one value.
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

  package static func read(_ value: ByteView) -> RecentEvents {
    RecentEvents(value.extracting(droppingFirst: StoredExpiry.byteCount))
  }
}
