/// What a command is called, takes and says of itself: help, completions and parsing all read this one value.
package struct CommandSpec: Sendable {
  /// An invocation worth showing, with what it does.
  package struct Example: Sendable, Equatable {
    /// The line to type.
    package var line: String
    /// What it does, in a few words.
    package var about: String

    /// A line to type and what it does.
    package init(_ line: String, _ about: String) {
      self.line = line
      self.about = about
    }
  }

  /// The word that calls it.
  package var name: String
  /// One line for the list of commands.
  package var summary: String
  /// What may follow the name, one way a line, without the options that have no place of their own.
  package var synopsis: [String]
  /// The names of the operands that have to be given, in order.
  package var required: [String]
  /// How many more operands may follow the required ones.
  package var optional: Int
  /// What a shell offers for operands.
  package var completes: Completion
  /// The options it takes beside those that every command takes.
  package var options: [OptionSpec]
  /// A few lines on what is not obvious.
  package var details: String
  /// Invocations worth showing.
  package var examples: [Example]

  /// A command, by its name.
  package init(
    _ name: String, _ summary: String, synopsis: [String] = [""], required: [String] = [], optional: Int = 0,
    completes: Completion = .nothing, options: [OptionSpec] = [], details: String = "", examples: [Example] = []
  ) {
    self.name = name
    self.summary = summary
    self.synopsis = synopsis
    self.required = required
    self.optional = optional
    self.completes = completes
    self.options = options
    self.details = details
    self.examples = examples
  }

  /// Any number of operands, for `optional`.
  package static let any = Int.max / 2
}
