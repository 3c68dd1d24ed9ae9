/// The header fields of a request in their order.
package struct HTTPHeaders: Sendable {
  package struct Field: Sendable, Equatable {
    /// The name in lower case.
    package let name: String
    /// The value without the white space around it.
    package let value: String

    /// A field; the name in lower case.
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  package private(set) var fields: [Field] = []

  mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name.lowercased(), value: value))
  }

  /// The value of the first field with that name, given in lower case.
  package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  func count(of name: String) -> Int { fields.count { $0.name == name } }

  /// Whether the body is sent as it is: neither compressed nor encoded in another way.
  package var isPlainBody: Bool {
    fields.filter { $0.name == "content-encoding" }.allSatisfy { field in
      field.value.split(separator: ",").allSatisfy { $0.filter { $0 != " " && $0 != "\t" }.lowercased() == "identity" }
    }
  }

  /// The CloudEvents attributes among them, without their prefix.
  package var attributes: [Field] {
    fields.compactMap { field in
      field.name.hasPrefix("ce-") ? Field(name: String(field.name.dropFirst(3)), value: field.value) : nil
    }
  }
}
