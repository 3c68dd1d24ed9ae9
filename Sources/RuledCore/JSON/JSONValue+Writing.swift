extension JSONValue {
  /// Appends the value as compact JSON.
  package func write(to buffer: ByteBuffer) { write(to: buffer, indent: 0, level: 0) }

  /// The value as compact JSON.
  package var text: String {
    let buffer = ByteBuffer()
    write(to: buffer)
    return buffer.text
  }

  /// The value as JSON for people, each member on its line, without a newline at the end.
  package func prettyText(indent: Int = 2) -> String {
    let buffer = ByteBuffer()
    write(to: buffer, indent: indent, level: 0)
    return buffer.text
  }

  private func write(to buffer: ByteBuffer, indent: Int, level: Int) {
    switch self {
    case .null: buffer.append("null" as StaticString)
    case .bool(let value): buffer.append(value ? "true" as StaticString : "false" as StaticString)
    case .integer(let value): buffer.append(decimal: value)
    case .number(let value): buffer.append(jsonNumber: value)
    case .string(let value): buffer.append(jsonString: value)
    case .array(let elements):
      buffer.append(UInt8(ascii: "["))
      for (position, element) in elements.enumerated() {
        buffer.beginItem(first: position == 0, indent: indent, level: level + 1)
        element.write(to: buffer, indent: indent, level: level + 1)
      }
      if !elements.isEmpty { buffer.breakLine(indent: indent, level: level) }
      buffer.append(UInt8(ascii: "]"))
    case .object(let members):
      buffer.append(UInt8(ascii: "{"))
      for (position, member) in members.enumerated() {
        buffer.beginItem(first: position == 0, indent: indent, level: level + 1)
        buffer.append(jsonString: member.name)
        buffer.append(UInt8(ascii: ":"))
        if indent > 0 { buffer.append(UInt8(ascii: " ")) }
        member.value.write(to: buffer, indent: indent, level: level + 1)
      }
      if !members.isEmpty { buffer.breakLine(indent: indent, level: level) }
      buffer.append(UInt8(ascii: "}"))
    }
  }
}

extension ByteBuffer {
  /// Appends the shortest JSON number that reads back as `value`, always with a point or an exponent.
  ///
  /// JSON has no infinities and no NaN: they become `null`, as in JavaScript.
  package func append(jsonNumber value: Double) {
    guard value.isFinite else { return append("null" as StaticString) }
    append(contentsOf: value.description)
  }

  fileprivate func beginItem(first: Bool, indent: Int, level: Int) {
    if !first { append(UInt8(ascii: ",")) }
    breakLine(indent: indent, level: level)
  }

  fileprivate func breakLine(indent: Int, level: Int) {
    guard indent > 0 else { return }
    append(UInt8(ascii: "\n"))
    for _ in 0..<(indent * level) { append(UInt8(ascii: " ")) }
  }
}
