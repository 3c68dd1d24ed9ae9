/// Writes help from the table of commands.
package struct HelpText {
  /// The program's name.
  package var program: String
  /// How headings look.
  package var style: Style

  /// Help for `program`, in this style.
  package init(program: String, style: Style) {
    self.program = program
    self.style = style
  }

  /// Help for the whole tool.
  package func tool(about: String, commands: [CommandSpec], examples: [CommandSpec.Example]) -> String {
    var text = about + "\n\n"
    text += heading("Usage") + "  \(program) [--socket PATH] COMMAND [ARGUMENT …]\n\n"
    text += heading("Commands") + columns(commands.map { ($0.name, $0.summary) }) + "\n"
    text += heading("Options") + options(OptionSpec.everywhere) + "\n"
    text += heading("Examples") + columns(examples.map { ($0.line, $0.about) }) + "\n"
    return text + "'\(program) COMMAND --help' says more about a command.\n"
  }

  /// Help for one command.
  package func command(_ spec: CommandSpec) -> String {
    var text = spec.summary + "\n\n" + heading("Usage")
    for line in spec.synopsis {
      text += "  \(program) \(spec.name)\(line.isEmpty ? "" : " " + line)\n"
    }
    if !spec.details.isEmpty { text += "\n\(spec.details)\n" }
    text += "\n" + heading("Options") + options(spec.options + OptionSpec.everywhere)
    if !spec.examples.isEmpty {
      text += "\n" + heading("Examples") + columns(spec.examples.map { ($0.line, $0.about) })
    }
    return text
  }

  private func heading(_ text: String) -> String { style.bold(text) + "\n" }

  private func options(_ options: [OptionSpec]) -> String {
    columns(options.map { (($0.short.map { "-\($0), " } ?? "    ") + $0.usage, $0.summary) })
  }

  private func columns(_ rows: [(String, String)]) -> String {
    let width = min(rows.map(\.0.count).max() ?? 0, 60)
    return rows.map { left, right in
      left.count > width
        ? "  \(left)\n\(String(repeating: " ", count: width + 4))\(right)\n"
        : "  \(left)\(String(repeating: " ", count: width - left.count + 2))\(right)\n"
    }.joined()
  }
}
