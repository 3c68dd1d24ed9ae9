/// A string that is equal only to itself byte for byte, as names in JSON and in a query string are.
///
/// `String` compares by canonical equivalence: a composed and a decomposed é would be one key.
struct ExactName: Hashable {
  let text: String

  static func == (left: ExactName, right: ExactName) -> Bool { left.text.isIdentical(to: right.text) }

  func hash(into hasher: inout Hasher) {
    text.withView { hasher.combine(bytes: $0.memory) }
  }
}
