import CJSON

extension UnsafeRawBufferPointer {
  /// The subject of the one event that the line can hold, nil where only parsing can tell; 64 bytes behind the line can be read.
  ///
  /// If the line turns out to be a request, it is an `event` with that subject, or one that is refused.
  package var eventSubject: UnsafeRawBufferPointer? {
    var subject = cj_slice()
    let isTold = withCharacters { cj_event_subject($0, $1, &subject) }
    return isTold ? UnsafeRawBufferPointer(start: subject.bytes, count: subject.length) : nil
  }

  /// The text of the one value that the bytes hold, without the white space around it.
  package var trimmedJSON: UnsafeRawBufferPointer {
    let slice = withCharacters { cj_raw_trim($0, $1) }
    return UnsafeRawBufferPointer(start: slice.bytes, count: slice.length)
  }

  /// The text of the last member called `name` of the object that the bytes hold; empty if it has none.
  package func rawMember(_ name: StaticString) -> UnsafeRawBufferPointer {
    let key = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    return withCharacters { bytes, count in
      var value: UnsafePointer<CChar>? = bytes
      var length = 0
      let found = cj_raw_member(bytes, count, key, name.utf8CodeUnitCount, &value, &length)
      return UnsafeRawBufferPointer(start: value, count: found ? length : 0)
    }
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
