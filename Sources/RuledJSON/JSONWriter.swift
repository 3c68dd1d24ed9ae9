public import RuledCore

/// Writes JSON into a buffer, value after value, and puts the commas.
///
///     var writer = JSONWriter(buffer)
///     writer.beginObject()
///     writer.member("id", string: id)      // {"id":"…"
///     writer.member("tries", 3)            // ,"tries":3
///     writer.member("data")
///     writer.raw(data)                     // ,"data":…
///     writer.endObject()                   // }
///
/// It allocates nothing and checks nothing: its caller closes all that it began, and gives each member one value. Text that others append to the
/// buffer meanwhile goes through `raw`, so that the next comma is right. Within a function that is inlined, the compiler knows where commas belong,
/// and the calls cost no more than appending literals.
public struct JSONWriter {
  public let buffer: ByteBuffer
  @usableFromInline var needsComma = false

  @inlinable public init(_ buffer: ByteBuffer) { self.buffer = buffer }

  /// A writer of further members or elements of a list that `buffer` holds alone, without its brackets.
  @inlinable public init(continuing buffer: ByteBuffer) {
    self.buffer = buffer
    needsComma = buffer.count > 0
  }

  // MARK: Containers

  @inlinable public mutating func beginObject() { begin(UInt8(ascii: "{")) }

  @inlinable public mutating func endObject() { end(UInt8(ascii: "}")) }

  @inlinable public mutating func beginArray() { begin(UInt8(ascii: "[")) }

  @inlinable public mutating func endArray() { end(UInt8(ascii: "]")) }

  @inlinable
  @inline(__always)
  mutating func begin(_ bracket: UInt8) {
    separate()
    buffer.append(bracket)
    needsComma = false
  }

  @inlinable
  @inline(__always)
  mutating func end(_ bracket: UInt8) {
    buffer.append(bracket)
    needsComma = true
  }

  /// Puts the comma that belongs before the next value, after which there is one again.
  @inlinable
  @inline(__always)
  mutating func separate() {
    if needsComma { buffer.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  // MARK: Names

  /// Writes a member's name; one value has to follow.
  ///
  /// - Precondition: `name` needs no escape.
  @inlinable
  @inline(__always)
  public mutating func member(_ name: StaticString) {
    buffer.append(jsonName: name, afterComma: needsComma)
    needsComma = false
  }

  /// Writes a member's name, escaped where need be; one value has to follow.
  @inlinable public mutating func member(named name: ByteView) {
    string(name)
    colon()
  }

  public mutating func member(named name: String) {
    string(name)
    colon()
  }

  @inlinable
  @inline(__always)
  mutating func colon() {
    buffer.append(UInt8(ascii: ":"))
    needsComma = false
  }

  // MARK: Values

  @inlinable public mutating func string(_ text: ByteView) {
    separate()
    buffer.append(jsonString: text)
  }

  @inlinable public mutating func string(_ text: String) {
    separate()
    buffer.append(jsonString: text)
  }

  /// Writes a string that needs no escape.
  @inlinable
  @inline(__always)
  public mutating func string(plain text: StaticString) {
    separate()
    buffer.append(UInt8(ascii: "\""))
    buffer.append(text)
    buffer.append(UInt8(ascii: "\""))
  }

  /// Writes a string that needs no escape, which `body` appends without its quotes.
  @inlinable
  @inline(__always)
  public mutating func string(plain body: (ByteBuffer) -> Void) {
    separate()
    buffer.append(UInt8(ascii: "\""))
    body(buffer)
    buffer.append(UInt8(ascii: "\""))
  }

  /// Writes a moment as a string in RFC 3339, in UTC with whole milliseconds.
  public mutating func time(_ time: Timestamp) { string(plain: time.write(to:)) }

  @inlinable public mutating func integer(_ value: Int64) {
    separate()
    buffer.append(decimal: value)
  }

  /// Writes the shortest number that reads back as `value`, always with a point or an exponent; infinities and NaN are `null`.
  public mutating func number(_ value: Double) {
    separate()
    buffer.append(jsonNumber: value)
  }

  @inlinable public mutating func bool(_ value: Bool) {
    separate()
    if value { buffer.append("true" as StaticString) } else { buffer.append("false" as StaticString) }
  }

  @inlinable public mutating func null() {
    separate()
    buffer.append("null" as StaticString)
  }

  /// Writes a value that is JSON text already.
  @inlinable public mutating func raw(_ json: ByteView) {
    separate()
    buffer.append(json)
  }

  @inlinable public mutating func raw(_ json: ByteBuffer) { raw(json.bytes) }

  /// Writes a value that is JSON text already, or members or elements with commas between them where such may follow.
  @inlinable public mutating func raw(_ json: String) {
    separate()
    buffer.append(contentsOf: json)
  }

  @inlinable
  @inline(__always)
  public mutating func raw(_ body: (ByteBuffer) -> Void) {
    separate()
    body(buffer)
  }
}

extension JSONWriter {
  /// Writes a member whose value is a string, or null.
  @inlinable public mutating func member(_ name: StaticString, _ text: String?) {
    member(name)
    if let text { string(text) } else { null() }
  }

  @inlinable public mutating func member(_ name: StaticString, string text: ByteView) {
    member(name)
    string(text)
  }

  /// Writes a member whose value is a string that needs no escape.
  @inlinable
  @inline(__always)
  public mutating func member(_ name: StaticString, plain text: StaticString) {
    member(name)
    string(plain: text)
  }

  @inlinable public mutating func member(_ name: StaticString, _ value: some FixedWidthInteger) {
    member(name)
    integer(Int64(clamping: value))
  }

  @inlinable public mutating func member(_ name: StaticString, _ value: Bool) {
    member(name)
    bool(value)
  }

  @inlinable public mutating func member(_ name: StaticString, _ time: Timestamp) {
    member(name)
    self.time(time)
  }

  @inlinable public mutating func member(_ name: StaticString, raw json: ByteView) {
    member(name)
    raw(json)
  }
}

extension RequestError {
  /// Writes the error object of JSON-RPC, `{"code":…,"message":…,"data":{"code":…,…}}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("code", code.number)
    writer.member("message", message)
    writer.member("data")
    writer.beginObject()
    writer.member("code", code.rawValue)
    for detail in details {
      writer.member(named: detail.name)
      writer.value(detail.value)
    }
    writer.endObject()
    writer.endObject()
  }

  package func write(to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    write(to: &writer)
  }
}
