package struct OptionSpec: Sendable, Equatable {
  /// The long name, without its dashes.
  package var name: String
  package var short: Character?
  /// The placeholder of the value in help, such as `FILE`; nil for an option that takes none.
  package var value: String?
  /// One line for help and completions.
  package var summary: String
  package var completes: Completion
  package var repeats: Bool

  package init(
    _ name: String, short: Character? = nil, value: String? = nil, _ summary: String, completes: Completion = .nothing,
    repeats: Bool = false
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.summary = summary
    self.completes = completes
    self.repeats = repeats
  }

  /// The option as help and synopses show it: `--data JSON`.
  var usage: String { value.map { "--\(name) \($0)" } ?? "--\(name)" }

  package static let help = OptionSpec("help", short: "h", "Shows this help.")
  package static let version = OptionSpec("version", short: "V", "Shows the version.")
}

/// A shell's completions for a value or an operand.
package enum Completion: Sendable, Equatable {
  case nothing
  case files
  case folders
  case words([String])
  /// The types of events, then the members of their data.
  case event
}
