package import RuledCore

/// Events that a subject has seen, the oldest first, read without copying: for each 8 bytes of its hash and 4 of when its outcome expires in seconds since
/// 1970, big-endian.
///
/// Valid as long as its bytes.
package struct RecentEvents {
  private let bytes: ByteView

  /// The events in `bytes`; an incomplete one at the end is ignored.
  init(_ bytes: ByteView) { self.bytes = bytes }

  package var count: Int { bytes.count / RecentEvent.byteCount }

  package subscript(index: Int) -> RecentEvent {
    precondition(index >= 0 && index < count)
    let offset = index * RecentEvent.byteCount
    return RecentEvent(
      hash: UInt64(bigEndian: bytes.load(at: offset, as: UInt64.self)),
      seconds: UInt32(bigEndian: bytes.load(at: offset + 8, as: UInt32.self)))
  }

  /// When the outcome of the latest event of that hash expires, in seconds since 1970; nil when there is none.
  ///
  /// - Complexity: O(`count`)
  @_effects(releasenone)
  package func seconds(of hash: UInt64) -> UInt32? {
    let wanted = hash.bigEndian
    var offset = (count - 1) * RecentEvent.byteCount
    while offset >= 0 {
      if bytes.load(at: offset, as: UInt64.self) == wanted {
        return UInt32(bigEndian: bytes.load(at: offset + 8, as: UInt32.self))
      }
      offset -= RecentEvent.byteCount
    }
    return nil
  }

  static func append(_ event: RecentEvent, to buffer: ByteBuffer) {
    buffer.append(bigEndian: event.hash)
    buffer.append(bigEndian: event.seconds)
  }
}

/// An event that a subject has seen, in few bytes.
package struct RecentEvent: Sendable, Equatable {
  /// How many bytes one takes in a record.
  static let byteCount = 12

  /// A hash of the event's source and id.
  package var hash: UInt64
  /// When its outcome expires, in seconds since 1970.
  package var seconds: UInt32

  @_effects(releasenone)
  package init(hash: UInt64, seconds: UInt32) {
    self.hash = hash
    self.seconds = seconds
  }
}

/// Remembered events of a subject that its record has no room for, as one value.
///
/// | bytes | what |
/// | --- | --- |
/// | 8 | when the last of them expires, in microseconds since 1970 |
/// | … | the events, as `RecentEvents` reads them |
package enum EarlierEvents {
  /// The most events here; further ones have a key each.
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
