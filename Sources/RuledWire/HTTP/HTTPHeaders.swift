/// The header fields of a request in their order.
package struct HTTPHeaders: Sendable {
  package struct Field: Sendable, Equatable {
    /// The name in lower case.
    package let name: String
    /// The value without the white space around it.
    package let value: String
    /// Whether the value is UTF-8; if not, each character has the number of a byte, so that different bytes stay different.
    let isText: Bool

    package init(name: String, value: String, isText: Bool = true) {
      self.name = name
      self.value = value
      self.isText = isText
    }
  }

  package private(set) var fields: [Field] = []

  mutating func append(_ name: String, _ value: some Collection<UInt8>) {
    let text = String(validating: value, as: UTF8.self)
    func characters() -> String { String(String.UnicodeScalarView(value.map { UnicodeScalar($0) })) }
    fields.append(Field(name: name.lowercased(), value: text ?? characters(), isText: text != nil))
  }

  /// The first field with that name, given in lower case.
  func first(_ name: String) -> Field? { fields.first { $0.name == name } }

  /// The value of the first field with that name, given in lower case.
  package subscript(name: String) -> String? { first(name)?.value }

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
      guard field.name.hasPrefix("ce-") else { return nil }
      return Field(name: String(field.name.dropFirst(3)), value: field.value, isText: field.isText)
    }
  }
}
