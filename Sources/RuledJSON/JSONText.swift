public import CJSON
public import RuledCore

/// Pieces of JSON text, as sent.
///
/// Everything here but `eventSubject` relies on `TapeDocument` having accepted the text.
extension ByteView {
  /// The text of the one value that the bytes hold, without the white space around it.
  package var trimmedJSON: ByteView {
    let slice = withCharacters { cj_raw_trim($0, $1) }
    return ByteView(start: slice.bytes, count: slice.length)
  }

  /// The text of the last member called `name` of the object that the bytes hold; empty if it has none.
  package func rawMember(_ name: StaticString) -> ByteView {
    let key = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    return withCharacters { bytes, count in
      var value: UnsafePointer<CChar>? = bytes
      var length = 0
      let found = cj_raw_member(bytes, count, key, name.utf8CodeUnitCount, &value, &length)
      return ByteView(start: value, count: found ? length : 0)
    }
  }

  /// The subject of the one event that the line can hold, or nil where only parsing can tell.
  ///
  /// If the line turns out to be a request, it is an `event` with that subject, or one that is refused.
  ///
  /// - Precondition: 64 bytes after the line can be read.
  package var eventSubject: ByteView? {
    var subject = cj_slice()
    let isFound = withCharacters { cj_event_subject($0, $1, &subject) }
    return isFound ? ByteView(start: subject.bytes, count: subject.length) : nil
  }

  /// Calls `body` with the bytes as C code takes them; an empty run has an address too.
  func withCharacters<Result>(_ body: (UnsafePointer<CChar>, Int) -> Result) -> Result {
    guard let baseAddress else {
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
        guard let start = UnsafePointer(empty.baseAddress) else { fatalError("no temporary memory") }
        return body(start, 0)
      }
    }
    return body(baseAddress.assumingMemoryBound(to: CChar.self), count)
  }
}

extension ByteView {
  /// Whether the bytes are those of `text`; for the 4 to 16 bytes that most names have, this takes two comparisons.
  @inlinable
  @inline(__always)
  package func equals(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard self.count == count else { return false }
    guard count > 0, let start = baseAddress else { return true }
    let wanted = UnsafeRawPointer(text.utf8Start)
    switch count {
    case 4...8:
      let end = count - 4
      return start.loadUnaligned(as: UInt32.self) == wanted.loadUnaligned(as: UInt32.self)
        && start.loadUnaligned(fromByteOffset: end, as: UInt32.self)
          == wanted.loadUnaligned(fromByteOffset: end, as: UInt32.self)
    case 9...16:
      let end = count - 8
      return start.loadUnaligned(as: UInt64.self) == wanted.loadUnaligned(as: UInt64.self)
        && start.loadUnaligned(fromByteOffset: end, as: UInt64.self)
          == wanted.loadUnaligned(fromByteOffset: end, as: UInt64.self)
    default: return memcmp(start, wanted, count) == 0
    }
  }
}
