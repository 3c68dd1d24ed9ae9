/// The name, the arguments and the help of a command.
///
/// Parsing, help and completions all read this one value.
package struct CommandSpec: Sendable {
  package struct Example: Sendable, Equatable {
    package var line: String
    package var about: String

    package init(_ line: String, _ about: String) {
      self.line = line
      self.about = about
    }
  }

  package var name: String
  /// One line for the list of commands.
  package var summary: String
  /// The words that may follow the name, one form a line.
  package var synopsis: [String]
  /// The names of the operands that have to be given, in order.
  var required: [String]
  /// How many more operands may follow the required ones.
  var optional: Int
  /// A shell's completions for operands.
  package var completes: Completion
  /// The options of this command alone.
  package var options: [OptionSpec]
  package var details: String
  package var examples: [Example]

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

  /// The lines that a person may type: `rulectl state SUBJECT`.
  ///
  /// - Parameter program: The program that the command belongs to; nil when the command is the program.
  /// - Returns: One line for each form of the synopsis.
  package func usage(of program: String?) -> [String] {
    synopsis.map { form in [program ?? "", name, form].filter { !$0.isEmpty }.joined(separator: " ") }
  }

  /// Checks how many operands were given.
  ///
  /// - Parameters:
  ///   - arguments: The given arguments.
  ///   - program: The program that the command belongs to; nil when the command is the program.
  /// - Throws: When an operand is missing or unexpected.
  package func checkOperands(of arguments: Arguments, program: String?) throws(UsageError) {
    let given = arguments.operands.count
    let form = usage(of: program).first ?? name
    if given < required.count { throw UsageError("\(required[given]) is missing; write '\(form)'") }
    if given - required.count > optional {
      throw UsageError("unexpected argument '\(arguments.operands[required.count + optional])'; write '\(form)'")
    }
  }
}
