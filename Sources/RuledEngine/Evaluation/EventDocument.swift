import CJSON
import RuledCore
import RuledJSON

/// A parsed JSON text, used again for the next one.
package final class EventDocument {
  /// The parser's own document.
  package let handle: OpaquePointer
  private let text = ByteBuffer(capacity: 1024)

  /// A document that holds nothing yet.
  package init() {
    guard let handle = cj_new() else { fatalError("there is no memory for a JSON parser") }
    self.handle = handle
  }

  deinit { cj_free(handle) }

  /// Parses a text, which is copied; false when it is not JSON.
  package func parse(_ bytes: UnsafeRawBufferPointer) -> Bool {
    text.removeAll()
    text.append(bytes)
    text.reserve(Int(CJ_PADDING))
    let length = text.count
    guard let start = text.bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return false }
    return cj_parse(handle, start, length, length + Int(CJ_PADDING)) == Int32(CJ_OK.rawValue)
  }

  /// The text that was parsed.
  package var bytes: UnsafeRawBufferPointer { text.bytes }

  /// Where the root's member of that name stands, 0 when there is none or it is null.
  package func member(_ name: StaticString) -> Int {
    guard cj_type(cj_tape(handle), 1) == CJ_OBJECT else { return 0 }
    let place = name.withUTF8Buffer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { chars in
        guard let start = chars.baseAddress else { return 0 }
        return cj_member(cj_tape(handle), cj_strings(handle), 1, start, chars.count)
      }
    }
    return place != 0 && cj_type(cj_tape(handle), place) != CJ_NULL ? place : 0
  }

  /// The string at a place; empty for anything else.
  package func string(_ place: Int) -> UnsafeRawBufferPointer {
    guard place != 0, cj_type(cj_tape(handle), place) == CJ_STRING else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    var length = 0
    let start = cj_string(cj_tape(handle), cj_strings(handle), place, &length)
    return UnsafeRawBufferPointer(start: start, count: length)
  }

  /// Parses a text that is kept in an array.
  package func parse(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { parse($0) } }

  /// The text of the root's member of that name; `{}` when there is none.
  package func text(of name: StaticString) -> UnsafeRawBufferPointer {
    var start: UnsafePointer<CChar>?
    var length = 0
    let wanted = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    guard let whole = text.bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
      cj_raw_member(whole, text.count, wanted, name.utf8CodeUnitCount, &start, &length), let start
    else {
      let empty: StaticString = "{}"
      return UnsafeRawBufferPointer(start: empty.utf8Start, count: 2)
    }
    return UnsafeRawBufferPointer(start: start, count: length)
  }

  /// Whether the root's member of that name is true.
  package func flag(_ name: StaticString) -> Bool {
    let place = member(name)
    return place != 0 && cj_type(cj_tape(handle), place) == CJ_TRUE
  }

  /// The integer at a place; 0 for anything else.
  package func integer(_ place: Int) -> Int64 {
    place != 0 && cj_type(cj_tape(handle), place) == CJ_INT64 ? cj_int64(cj_tape(handle), place) : 0
  }

  /// The event that the parsed object describes, for one that the daemon itself recorded.
  ///
  /// It is evaluated at `now`, which is also its time when it names none.
  package func event(now: Int64) -> EventInput {
    let time = Timestamp(rfc3339: string(member("time")))?.microseconds ?? now
    var event = EventInput(
      type: string(member("type")), subject: string(member("subject")), source: string(member("source")),
      id: string(member("id")), time: time, document: handle, data: member("data"), attributes: 1, text: bytes, now: now
    )
    event.origin = .store
    return event
  }
}
