/// A string that is equal only to itself byte for byte, as names in JSON and in a query string are.
///
/// `String` compares by canonical equivalence: a composed and a decomposed é would be one key.
struct ExactName: Hashable {
  /// The name.
  let text: String

  static func == (left: ExactName, right: ExactName) -> Bool { left.text.isIdentical(to: right.text) }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension String {
  /// Whether both have the same bytes in UTF-8.
  package func isIdentical(to other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}
