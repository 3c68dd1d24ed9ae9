import RuledCore

/// The name of a rule, a decision, a board, a counter or an effect, and its plugin.
struct QualifiedName: Hashable, Comparable {
  let plugin: String
  let name: ExactName
  /// The labels of a counter, the type of an effect; empty for all others.
  let detail: ExactName

  init(_ plugin: String, _ name: String, _ detail: String = "") {
    (self.plugin, self.name, self.detail) = (plugin, ExactName(text: name), ExactName(text: detail))
  }

  /// The name of all things beyond those that are told apart.
  static let others = QualifiedName("…", "…", "…")

  static func < (left: QualifiedName, right: QualifiedName) -> Bool {
    (left.plugin, left.name, left.detail) < (right.plugin, right.name, right.detail)
  }
}
