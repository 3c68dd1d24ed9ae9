/// Colours text, or leaves it alone where colour is not wanted.
package struct Style: Sendable, Equatable {
  var isColoured: Bool

  package init(isColoured: Bool) { self.isColoured = isColoured }

  package static let plain = Style(isColoured: false)

  /// For headings.
  package func bold(_ text: String) -> String { wrap(text, "1") }
  /// For details.
  package func dim(_ text: String) -> String { wrap(text, "2") }
  /// For failures.
  package func red(_ text: String) -> String { wrap(text, "31") }
  /// For successes.
  package func green(_ text: String) -> String { wrap(text, "32") }
  /// For warnings.
  package func yellow(_ text: String) -> String { wrap(text, "33") }
  /// For names.
  package func cyan(_ text: String) -> String { wrap(text, "36") }

  private func wrap(_ text: String, _ code: String) -> String {
    isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
