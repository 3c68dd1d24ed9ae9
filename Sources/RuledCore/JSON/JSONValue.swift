/// A JSON value, for tools, configuration and tests; events and state go through the faster codec.
///
/// Integers and floats keep their kind: 1 is an `integer`, 1.0 a `number`, and they are not equal.
package enum JSONValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without fraction and exponent that fits.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object(JSONObject)

  /// The value that a text in strict RFC 8259 holds.
  ///
  /// Of a repeated name the last counts; an integer beyond `Int64` becomes a `number`; a lone surrogate, malformed UTF-8
  /// and a number that no `Double` can hold are errors.
  ///
  /// - Parameters:
  ///   - bytes: The whole text, in UTF-8.
  ///   - maximumDepth: How deep arrays and objects may nest.
  /// - Throws: What is wrong and where.
  package init(parsing bytes: UnsafeRawBufferPointer, maximumDepth: Int = Limits.jsonDepth) throws(JSONError) {
    var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
    self = try parser.parseDocument()
  }

  /// The value that `text` holds, in strict RFC 8259.
  ///
  /// - Parameters:
  ///   - text: The whole text.
  ///   - maximumDepth: How deep arrays and objects may nest.
  /// - Throws: What is wrong and where.
  package init(parsing text: String, maximumDepth: Int = Limits.jsonDepth) throws(JSONError) {
    var text = text
    let parsed = text.withUTF8 { utf8 in
      Result { () throws(JSONError) -> JSONValue in
        try JSONValue(parsing: UnsafeRawBufferPointer(utf8), maximumDepth: maximumDepth)
      }
    }
    self = try parsed.get()
  }
}

extension JSONValue: Equatable {
  /// Whether both are the same value; strings byte for byte, objects in whatever order.
  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left.isIdentical(to: right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}
