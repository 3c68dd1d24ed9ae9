import RuledCore

/// An effect as it stands in the store: `{"id":…,"plugin":…,"sink":…,"type":…,"data":…,"subject":…,"at":…}`.
///
/// One that was given up has `"failed":{"at":…,"tries":…,"why":…,"after":…}` before all that. Only the head is read, as the data may be long.
struct StoredEffect {
  /// Its id, the same at each try.
  let id: String
  /// The plugin that emitted it.
  let plugin: String
  /// The sink that it is for.
  let sink: String
  /// Its type.
  let type: String
  /// The last sequence before the effect was given up, 0 if it is not known; nil if it was not given up.
  let givenUpAfter: UInt64?
  /// Where the member `id` begins.
  private let start: Int

  /// Reads the head of a stored text; nil when it has another form.
  init?(_ text: UnsafeRawBufferPointer) {
    var reader = Reader(text: text)
    var after: UInt64?
    guard reader.skip("{") else { return nil }
    if reader.skip("\"failed\":{\"at\":") {
      guard reader.string() != nil, reader.skip(",\"tries\":"), reader.number() != nil, reader.skip(",\"why\":"),
        reader.string() != nil
      else { return nil }
      after = reader.skip(",\"after\":") ? reader.number() : 0
      guard after != nil, reader.skip("},") else { return nil }
    }
    start = reader.offset
    guard reader.skip("\"id\":"), let id = reader.string(), reader.skip(",\"plugin\":"), let plugin = reader.string(),
      reader.skip(",\"sink\":"), let sink = reader.string(), reader.skip(",\"type\":"), let type = reader.string()
    else { return nil }
    self.id = id
    self.plugin = plugin
    self.sink = sink
    self.type = type
    givenUpAfter = after
  }

  /// The effect as it was emitted, from its stored text.
  func emitted(_ text: UnsafeRawBufferPointer) -> [UInt8] { [UInt8(ascii: "{")] + text[start...] }

  /// The text of the effect once it is given up.
  static func givenUp(_ emitted: [UInt8], at time: Timestamp, tries: Int, reason: String, after number: UInt64)
    -> [UInt8]
  {
    let buffer = ByteBuffer(capacity: emitted.count + 128)
    buffer.append("{\"failed\":{\"at\":\"" as StaticString)
    time.write(to: buffer)
    buffer.append("\",\"tries\":" as StaticString)
    buffer.append(decimal: Int64(tries))
    buffer.append(",\"why\":" as StaticString)
    buffer.append(jsonString: reason)
    buffer.append(",\"after\":" as StaticString)
    buffer.append(decimal: Int64(clamping: number))
    buffer.append("}," as StaticString)
    emitted.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
    return Array(buffer.bytes)
  }

  /// Reads from the front.
  private struct Reader {
    let text: UnsafeRawBufferPointer
    var offset = 0

    mutating func skip(_ expected: StaticString) -> Bool {
      let length = expected.utf8CodeUnitCount
      guard text.count - offset >= length,
        UnsafeRawBufferPointer(rebasing: text[offset..<offset + length])
          .elementsEqual(UnsafeRawBufferPointer(start: expected.utf8Start, count: length))
      else { return false }
      offset += length
      return true
    }

    mutating func number() -> UInt64? {
      let first = offset
      while offset < text.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[offset]) { offset += 1 }
      return UInt64(String(decoding: text[first..<offset], as: UTF8.self))
    }

    mutating func string() -> String? {
      guard offset < text.count, text[offset] == UInt8(ascii: "\"") else { return nil }
      let first = offset
      var isEscaped = false
      offset += 1
      while offset < text.count, text[offset] != UInt8(ascii: "\"") {
        if text[offset] == UInt8(ascii: "\\") {
          isEscaped = true
          offset += 1
        }
        offset += 1
      }
      guard offset < text.count else { return nil }
      offset += 1
      let whole = UnsafeRawBufferPointer(rebasing: text[first..<offset])
      guard isEscaped else { return String(decoding: whole.dropFirst().dropLast(), as: UTF8.self) }
      return (try? JSONValue(parsing: whole))?.stringValue
    }
  }
}
