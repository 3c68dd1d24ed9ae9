/// The header fields of a request in their order.
package struct HTTPHeaders: Sendable {
  /// A field.
  package struct Field: Sendable, Equatable {
    /// The name in lower case.
    package let name: String
    /// The value without the white space around it.
    package let value: String
  }

  /// The fields.
  package private(set) var fields: [Field] = []

  /// No fields.
  package init() {}

  /// Adds a field.
  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name.lowercased(), value: value))
  }

  /// The first field of that name, in lower case.
  package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  /// How many fields of that name there are.
  package func count(_ name: String) -> Int { fields.reduce(0) { $0 + ($1.name == name ? 1 : 0) } }

  /// The CloudEvents attributes among them, without their prefix.
  package var attributes: [Field] {
    fields.compactMap { field in
      field.name.hasPrefix("ce-") ? Field(name: String(field.name.dropFirst(3)), value: field.value) : nil
    }
  }
}
