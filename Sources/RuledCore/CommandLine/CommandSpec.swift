/// What a command is called, takes and says of itself.
///
/// Parsing, help and completions all read this one value.
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

  /// The word that calls the command.
  package var name: String
  /// One line for the list of commands.
  package var summary: String
  /// What may follow the name, one form a line.
  package var synopsis: [String]
  /// The names of the operands that have to be given, in order.
  package var required: [String]
  /// How many more operands may follow the required ones.
  package var optional: Int
  /// What a shell offers for operands.
  package var completes: Completion
  /// The options of this command alone.
  package var options: [OptionSpec]
  /// A few lines on what is not obvious.
  package var details: String
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
  ///   - arguments: What was given.
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

/// An option of a command: what a person may write, what help says of it, and how a shell completes it.
package struct OptionSpec: Sendable, Equatable {
  /// The long name, without its dashes.
  package var name: String
  /// The one-letter name, if it has one.
  package var short: Character?
  /// What stands for the value in help, such as `FILE`; nil for an option that takes none.
  package var value: String?
  /// One line for help and completions.
  package var summary: String
  /// What a shell offers for the value.
  package var completes: Completion
  /// Whether it may be given more than once.
  package var repeats: Bool

  /// An option, by its long name.
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
  package var usage: String { value.map { "--\(name) \($0)" } ?? "--\(name)" }

  /// `--help`, which every command takes.
  package static let help = OptionSpec("help", short: "h", "Shows this help.")
  /// `--version`, which every command takes.
  package static let version = OptionSpec("version", short: "V", "Shows the version.")
}

/// The version of ruled and rulectl.
package enum Version {
  /// What `--version` shows; `packaging/debian/changelog` begins with the same.
  package static let current = "0.1.0"
  /// The day of this version, as manual pages show it.
  package static let date = "November 22, 2026"
}

/// What a shell offers for a value or an operand.
package enum Completion: Sendable, Equatable {
  /// Nothing: the value is free.
  case nothing
  case files
  case folders
  case words([String])
  /// What `PROGRAM completions WORD -- …` prints for the command's words so far, one a line.
  case asked(String)
}

/// Writes what `--help` shows.
package struct HelpText {
  private let program: String?
  private let sharedOptions: [OptionSpec]
  private let highlight: (String) -> String

  /// Help on a program or on its commands.
  ///
  /// - Parameters:
  ///   - program: The program that the commands belong to; nil when a command is the program.
  ///   - sharedOptions: The options that every command takes.
  ///   - highlight: Makes a heading stand out.
  package init(program: String?, sharedOptions: [OptionSpec], highlight: @escaping (String) -> String = { $0 }) {
    self.program = program
    self.sharedOptions = sharedOptions
    self.highlight = highlight
  }

  /// Help on a program made of commands.
  package func overview(about: String, commands: [CommandSpec], examples: [CommandSpec.Example]) -> String {
    let name = program ?? ""
    let shared = sharedOptions.filter { $0.value != nil }.map { "[\($0.usage)] " }.joined()
    var text = about + "\n"
    text += section("Usage", "  \(name) \(shared)COMMAND [ARGUMENT …]\n")
    text += section("Commands", columns(commands.map { ($0.name, $0.summary) }))
    text += section("Options", options(sharedOptions))
    text += section("Examples", columns(examples.map { ($0.line, $0.about) }))
    return text + "\n'\(name) COMMAND --help' says more about a command.\n"
  }

  package func command(_ spec: CommandSpec) -> String {
    var text = spec.summary + "\n"
    text += section("Usage", spec.usage(of: program).map { "  \($0)\n" }.joined())
    if !spec.details.isEmpty { text += "\n\(spec.details)\n" }
    let shared = sharedOptions.filter { shared in !spec.options.contains { $0.name == shared.name } }
    text += section("Options", options(spec.options + shared))
    if !spec.examples.isEmpty { text += section("Examples", columns(spec.examples.map { ($0.line, $0.about) })) }
    return text
  }

  private func section(_ heading: String, _ body: String) -> String { "\n\(highlight(heading))\n\(body)" }

  private func options(_ options: [OptionSpec]) -> String {
    columns(options.map { (($0.short.map { "-\($0), " } ?? "    ") + $0.usage, $0.summary) })
  }

  /// Rows of two aligned columns; where the left one is wider than 60 characters, the right one follows below it.
  private func columns(_ rows: [(left: String, right: String)]) -> String {
    let width = min(rows.map(\.left.count).max() ?? 0, 60)
    return rows.map { left, right in
      left.count > width
        ? "  \(left)\n\(String(repeating: " ", count: width + 4))\(right)\n"
        : "  \(left)\(String(repeating: " ", count: width - left.count + 2))\(right)\n"
    }.joined()
  }
}
