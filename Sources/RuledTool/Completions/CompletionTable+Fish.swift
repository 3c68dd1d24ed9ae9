extension CompletionTable {
  /// A script for fish.
  package var fish: String {
    var lines = ["# Completes \(program) in fish.", "complete -c \(program) -f"]
    for option in OptionSpec.everywhere { lines.append("complete -c \(program)" + fishOption(option)) }
    for command in commands {
      lines.append(
        "complete -c \(program) -n __fish_use_subcommand -a \(command.name) -d \(Self.quoted(command.summary))")
    }
    for command in commands {
      let begin = "complete -c \(program) -n '__fish_seen_subcommand_from \(command.name)'"
      for option in command.options { lines.append(begin + fishOption(option)) }
      switch command.completes {
      case .nothing: break
      case .files: lines.append(begin + " -F")
      case .folders: lines.append(begin + " -a '(__fish_complete_directories)'")
      case .words(let words): lines.append(begin + " -a " + Self.quoted(words.joined(separator: " ")))
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func fishOption(_ option: OptionSpec) -> String {
    var text = (option.short.map { " -s \($0)" } ?? "") + " -l \(option.name)"
    if option.value != nil {
      switch option.completes {
      case .nothing: text += " -x"
      case .files: text += " -r -F"
      case .folders: text += " -x -a '(__fish_complete_directories)'"
      case .words(let words): text += " -x -a " + Self.quoted(words.joined(separator: " "))
      }
    }
    return text + " -d " + Self.quoted(option.summary)
  }
}
