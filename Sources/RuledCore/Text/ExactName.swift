/// A string that is equal only to itself byte for byte, as names in JSON, in a query string and of boards are.
///
/// `String` compares by canonical equivalence: a composed and a decomposed é would be one key.
package struct ExactName: Hashable, Comparable, Sendable {
  package let text: String

  package init(text: String) { self.text = text }

  package static func == (left: ExactName, right: ExactName) -> Bool { left.text.isIdentical(to: right.text) }

  package static func < (left: ExactName, right: ExactName) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    text.withView { hasher.combine(bytes: $0.memory) }
  }
}
