/// A plugin's declaration of the data of an event type: `event "type" {…}`.
package struct EventDeclaration: Sendable {
  package let type: String
  /// Its meaning, in a sentence; may be empty.
  package let about: String
  package let data: DataSchema
  /// Whether events whose data is not so are refused; else the declaration only documents.
  package let isChecked: Bool
  /// Whether members that no plugin declares are refused.
  package let isClosed: Bool
  /// Whether only rules make such events: `from = "rules"`.
  package let isInternal: Bool
  package let file: String
  package let line: Int
}
