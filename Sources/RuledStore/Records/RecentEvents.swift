package import RuledCore

/// Events that a subject has seen, the oldest first, where they lie: for each 8 bytes of its hash and 4 of when its outcome expires in seconds
/// since 1970, big-endian.
///
/// Valid as long as the bytes that it was made over.
package struct RecentEvents {
  private let bytes: UnsafeRawBufferPointer

  /// The events in `bytes`; what is left behind the last whole one is none.
  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// How many events there are.
  package var count: Int { bytes.count / RecentEvent.byteCount }

  /// The event at `index`.
  package subscript(index: Int) -> RecentEvent {
    precondition(index >= 0 && index < count)
    let offset = index * RecentEvent.byteCount
    return RecentEvent(
      hash: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)),
      seconds: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)))
  }

  /// When the outcome of the latest event of that hash expires, in seconds since 1970; nil when there is none.
  ///
  /// - Complexity: O(`count`)
  package func seconds(of hash: UInt64) -> UInt32? {
    let wanted = hash.bigEndian
    var offset = (count - 1) * RecentEvent.byteCount
    while offset >= 0 {
      if bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == wanted {
        return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
      }
      offset -= RecentEvent.byteCount
    }
    return nil
  }

  /// Appends one event as the list has it.
  package static func append(_ event: RecentEvent, to buffer: ByteBuffer) {
    buffer.append(bigEndian: event.hash)
    buffer.append(bigEndian: event.seconds)
  }
}
