/// What a plugin declares about the data of an event type: `event "type" {…}`.
package struct EventDeclaration: Sendable {
  package let type: String
  /// What it tells, in a sentence; may be empty.
  package let about: String
  /// The members of the data.
  package let data: DataSchema
  /// Whether events whose data is not so are refused; else the declaration only documents.
  package let isChecked: Bool
  /// Whether members that no plugin declares are refused.
  package let isClosed: Bool
  /// Whether only rules make such events: `from = "rules"`.
  package let isInternal: Bool
  /// The file that declares it.
  let file: String
  /// The line at which it is declared.
  let line: Int
}

extension EventDeclaration {
  /// The errors where plugins describe one type and do not agree on whether only rules make it; each names the other place.
  package static func disagreements(in manifests: [PluginManifest]) -> [LoadError] {
    var first: [String: EventDeclaration] = [:]
    var errors: [LoadError] = []
    for event in manifests.flatMap(\.events) {
      guard let other = first[event.type] else {
        first[event.type] = event
        continue
      }
      guard event.isInternal != other.isInternal else { continue }
      let (with, without) = event.isInternal ? (event, other) : (other, event)
      errors.append(
        LoadError(
          file: without.file, line: without.line,
          "event '\(event.type)' is described without from = \"rules\", which \(with.file):\(with.line) has: "
            + "plugins must agree on where it comes from"))
    }
    return errors
  }
}
