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
