extension CompletionTable {
  /// A script for zsh.
  package var zsh: String {
    let names = commands.map { "    " + Self.quoted("\($0.name):\($0.summary)") }.joined(separator: "\n")
    return """
      #compdef \(program)
      # Completes \(program) in zsh.
      _\(program)() {
        local context state line
        local -a commands
        commands=(
      \(names)
          'help:Shows help on a command.'
        )
        _arguments -C \(OptionSpec.everywhere.map(zshOption).joined(separator: " ")) '1:command:->command' '*::argument:->argument'
        case $state in
          command) _describe command commands ;;
          argument)
            case $line[1] in
              help) _describe command commands ;;
      \(commands.map(zshCase).joined(separator: "\n"))
            esac ;;
        esac
      }
      if [[ $funcstack[1] == _\(program) ]]; then _\(program) "$@"; else compdef _\(program) \(program); fi

      """
  }

  private func zshCase(_ command: CommandSpec) -> String {
    let options = options(of: command).map { " \\\n            " + zshOption($0) }.joined()
    return "        \(command.name)) _arguments\(options) \\\n            "
      + Self.quoted("*:argument:\(zshAction(command.completes))") + " ;;"
  }

  private func zshOption(_ option: OptionSpec) -> String {
    let about = option.summary.map { "[]:".contains($0) ? "\\\($0)" : "\($0)" }.joined()
    let value = option.value.map { ":\($0):\(zshAction(option.completes))" } ?? ""
    let long = Self.quoted(
      (option.repeats ? "*" : "") + "--\(option.name)" + (value.isEmpty ? "" : "=") + "[\(about)]\(value)")
    guard let short = option.short else { return long }
    return Self.quoted((option.repeats ? "*" : "") + "-\(short)[\(about)]\(value)") + " " + long
  }

  private func zshAction(_ completion: Completion) -> String {
    switch completion {
    case .nothing: " "
    case .files: "_files"
    case .folders: "_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    }
  }
}
