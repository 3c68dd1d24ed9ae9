package import RuledCore

extension JSONValue {
  /// Appends the value as compact JSON.
  package func write(to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    writer.value(self)
  }

  /// The value as compact JSON.
  package var text: String {
    let buffer = ByteBuffer()
    write(to: buffer)
    return buffer.text
  }

  /// The value as JSON for people, each member and element on its line, without a newline at the end.
  ///
  /// - Parameter indent: How many spaces each level is indented by.
  /// - Returns: The text.
  package func prettyText(indent: Int = 2) -> String {
    let buffer = ByteBuffer()
    writePretty(to: buffer, indent: indent, level: 0)
    return buffer.text
  }

  private func writePretty(to buffer: ByteBuffer, indent: Int, level: Int) {
    func breakLine(_ level: Int) {
      buffer.append(UInt8(ascii: "\n"))
      for _ in 0..<(indent * level) { buffer.append(UInt8(ascii: " ")) }
    }
    switch self {
    case .array(let elements) where !elements.isEmpty:
      buffer.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        breakLine(level + 1)
        element.writePretty(to: buffer, indent: indent, level: level + 1)
      }
      breakLine(level)
      buffer.append(UInt8(ascii: "]"))
    case .object(let members) where !members.isEmpty:
      buffer.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        breakLine(level + 1)
        buffer.append(jsonString: member.name)
        buffer.append(": " as StaticString)
        member.value.writePretty(to: buffer, indent: indent, level: level + 1)
      }
      breakLine(level)
      buffer.append(UInt8(ascii: "}"))
    default: write(to: buffer)
    }
  }
}

extension JSONWriter {
  /// Writes a value.
  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let value): bool(value)
    case .integer(let value): integer(value)
    case .number(let value): number(value)
    case .string(let value): string(value)
    case .array(let elements):
      beginArray()
      for element in elements { self.value(element) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members {
        self.member(named: member.name)
        self.value(member.value)
      }
      endObject()
    }
  }
}
