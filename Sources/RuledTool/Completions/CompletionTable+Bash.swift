extension CompletionTable {
  /// A script for bash.
  package var bash: String {
    let names = commands.map(\.name).joined(separator: " ")
    let everywhere = OptionSpec.everywhere.map { "--\($0.name)" }.joined(separator: " ")
    return """
      # Completes \(program) in bash.
      _\(program)_files() {
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
      }
      _\(program)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command="" skip="" word
        for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
          if [[ -n $skip ]]; then skip=""; continue; fi
          case $word in
            --socket) skip=1 ;;
            -*) ;;
            *) command=$word; break ;;
          esac
        done
        COMPREPLY=()
        if [[ $previous == --socket ]]; then
          _\(program)_files -f
          return
        fi
        if [[ -z $command ]]; then
          COMPREPLY=($(compgen -W "\(names) help \(everywhere)" -- "$current"))
          return
        fi
        case $command in
          help) COMPREPLY=($(compgen -W "\(names)" -- "$current")) ;;
      \(commands.map(bashCase).joined(separator: "\n"))
        esac
      }
      complete -F _\(program) \(program)

      """
  }

  private func bashCase(_ command: CommandSpec) -> String {
    let options = options(of: command)
    let valued = options.filter { $0.value != nil }.map { option in
      let names = (option.short.map { "-\($0)|" } ?? "") + "--\(option.name)"
      return "        \(names)) \(bashReply(option.completes, "; "))return ;;\n"
    }.joined()
    let words = options.map { "--\($0.name)" }.joined(separator: " ")
    return """
          \(command.name))
            case $previous in
      \(valued)      esac
            if [[ $current == -* ]]; then
              COMPREPLY=($(compgen -W "\(words)" -- "$current"))
            else
              \(bashReply(command.completes, ""))
            fi ;;
      """
  }

  private func bashReply(_ completion: Completion, _ end: String) -> String {
    switch completion {
    case .nothing: end.isEmpty ? "COMPREPLY=()" : ""
    case .files: "_\(program)_files -f\(end)"
    case .folders: "_\(program)_files -d\(end)"
    case .words(let words):
      "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\"))\(end)"
    }
  }
}
