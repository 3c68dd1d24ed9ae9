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
