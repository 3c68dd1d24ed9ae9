package import RuledCore

/// A file and a line that a failure or an error names.
package struct Place: Sendable, Equatable {
  /// `file:line`, or nil when neither is known.
  package var text: String?

  /// Reads the members `file` and `line`.
  package init(_ json: JSONValue) {
    guard let file = json.member("file")?.stringValue, !file.isEmpty else { return }
    text = json.member("line")?.intValue.map { "\(file):\($0)" } ?? file
  }
}

extension String {
  /// The message with its place before it, unless it names the place itself.
  func after(place: Place) -> String {
    guard let text = place.text, !contains(text) else { return self }
    return "\(text): \(self)"
  }
}
