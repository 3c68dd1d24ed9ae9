import CJSON
package import RuledCore

extension JSONValue {
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
  package func prettyText() -> String {
    let buffer = ByteBuffer()
    writePretty(to: buffer, line: "\n")
    return buffer.text
  }

  /// - Parameters:
  ///   - buffer: What the text is appended to.
  ///   - line: What breaks a line at the value's own level.
  private func writePretty(to buffer: ByteBuffer, line: String) {
    let inner = line + "  "
    switch self {
    case .array(let elements) where !elements.isEmpty:
      for (index, element) in elements.enumerated() {
        buffer.append(contentsOf: (index == 0 ? "[" : ",") + inner)
        element.writePretty(to: buffer, line: inner)
      }
      buffer.append(contentsOf: line + "]")
    case .object(let members) where !members.isEmpty:
      for (index, member) in members.enumerated() {
        buffer.append(contentsOf: (index == 0 ? "{" : ",") + inner)
        buffer.append(jsonString: member.name)
        buffer.append(": " as StaticString)
        member.value.writePretty(to: buffer, line: inner)
      }
      buffer.append(contentsOf: line + "}")
    default: write(to: buffer)
    }
  }
}

extension JSONWriter {
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

extension JSONValue {
  /// The value that a text in strict RFC 8259 holds.
  ///
  /// Of a repeated name the last counts; an integer beyond `Int64` becomes a `number`; a lone surrogate, malformed UTF-8 and a number that
  /// no `Double` can hold are errors. Each call takes a parser of its own: where many texts are read, use one `TapeDocument` for all.
  ///
  /// - Parameters:
  ///   - text: The whole text, in UTF-8.
  ///   - maximumDepth: How deep arrays and objects may nest.
  /// - Throws: What is wrong, and where.
  package init(parsing text: ByteView, maximumDepth: Int = Limits.storedDepth) throws(JSONError) {
    let document = TapeDocument(maximumDepth: maximumDepth)
    do throws(JSONError.Reason) {
      self.init(try document.parse(text))
    } catch {
      throw JSONError(reason: error, offset: text.withCharacters { cj_error_offset($0, $1, maximumDepth) })
    }
  }

  /// The value that a text in strict RFC 8259 holds, as `init(parsing:maximumDepth:)` of its UTF-8 gives it.
  package init(parsing text: String, maximumDepth: Int = Limits.storedDepth) throws(JSONError) {
    self = try text.withView { utf8 throws(JSONError) in try JSONValue(parsing: utf8, maximumDepth: maximumDepth) }
  }

  package init(_ value: TapeValue) {
    switch value.kind {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .integer: self = .integer(value.integer ?? 0)
    case .unsigned, .number: self = .number(value.double ?? .nan)
    case .string: self = .string(value.text ?? "")
    case .array: self = .array(value.children.map { JSONValue($0) })
    case .object:
      var object = JSONObject()
      var members = value.members
      while let (name, value) = members.next() { object[name.text] = JSONValue(value) }
      self = .object(object)
    }
  }
}
