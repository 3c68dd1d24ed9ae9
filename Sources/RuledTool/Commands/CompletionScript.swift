internal import RuledCore

/// Writes the script by which a shell completes a program's commands and options.
struct CompletionScript {
  let program: String
  let commands: [CommandSpec]

  func options(of command: CommandSpec) -> [OptionSpec] {
    command.options + OptionSpec.shared(besides: command.options)
  }

  /// Text in single quotes, as bash, zsh and fish read it.
  static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  // MARK: bash

  var bash: String {
    let names = commands.map(\.name).joined(separator: " ")
    let shared = OptionSpec.shared.map { "--\($0.name)" }.joined(separator: " ")
    return """
      # Completes \(program) in bash.
      _\(program)_files() {
        compopt -o filenames 2>/dev/null
        local file files
        mapfile -t files < <(compgen "$1" -- "$current")
        # compgen breaks a name at its line ends.
        for file in "${files[@]}"; do
          if [[ -e ${file/#\\~/$HOME} || -L $file ]]; then COMPREPLY+=("$file"); fi
        done
      }
      _\(program)_asked() {
        if [[ $previous == = || $current == = ]]; then return; fi
        compopt -o nospace 2>/dev/null
        local words word found
        # bash breaks words at ':' and '=' and leaves their quotes. xargs reads a line as a shell does, and expands nothing.
        word=$(LC_ALL=C; printf %s "${COMP_LINE:0:COMP_POINT}")
        mapfile -d '' -t words < <(xargs -r printf '%s\\0' <<< "${word%"$current"}" 2>/dev/null)
        index=1
        while [[ ${words[index]} == -* ]]; do
          if [[ ${words[index]} == --socket ]]; then ((index++)); fi
          ((index++))
        done
        mapfile -t found < <(\(program) completions "$1" -- "${words[@]:index+1}" 2>/dev/null)
        # The names come from rules: bash must take them as they are, here and on its command line.
        for word in "${found[@]}"; do
          word=$(printf %q "$word")
          if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
        done
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != *= ]]; then COMPREPLY[0]+=" "; fi
      }
      _\(program)() {
        local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command="" index
        for ((index = 1; index < COMP_CWORD; index++)); do
          case ${COMP_WORDS[index]} in
            --socket) [[ ${COMP_WORDS[index+1]} == = ]] && ((index += 2)) || ((index += 1)) ;;
            -*) ;;
            *) command=${COMP_WORDS[index]}; break ;;
          esac
        done
        # bash splits words at '=': --file=x is three.
        if [[ $current == = && $previous == --* ]]; then
          current=""
        elif [[ $previous == = && ${COMP_WORDS[COMP_CWORD-2]} == --* ]]; then
          previous=${COMP_WORDS[COMP_CWORD-2]}
        fi
        COMPREPLY=()
        if [[ $previous == --socket ]]; then
          _\(program)_files -f
          return
        fi
        if [[ -z $command ]]; then
          COMPREPLY=($(compgen -W "\(names) help \(shared)" -- "$current"))
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
    case .asked(let word): "_\(program)_asked \(word)\(end)"
    }
  }

  // MARK: zsh

  var zsh: String {
    let names = commands.map { "    " + Self.quoted("\($0.name):\($0.summary)") }.joined(separator: "\n")
    return """
      #compdef \(program)
      # Completes \(program) in zsh.
      _\(program)_asked() {
        local -a found
        found=(${(f)"$(\(program) completions $1 -- ${(Q)words[2,CURRENT-1]} 2>/dev/null)"})
        compadd -S '' -a found
      }
      _\(program)() {
        local context state line
        local -a commands
        commands=(
      \(names)
          'help:Shows help on a command.'
        )
        _arguments -C \(OptionSpec.shared.map(zshOption).joined(separator: " ")) '1:command:->command' '*::argument:->argument'
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
    // Without the space, _arguments would insert options of compadd before the word.
    case .asked(let word): " _\(program)_asked \(word)"
    }
  }

  // MARK: fish

  var fish: String {
    let functions = """
      # Completes \(program) in fish.
      # The words before the cursor, from the command on.
      function __\(program)_words
          set -l words (commandline -opc)
          set -e words[1]
          while set -q words[1]
              switch $words[1]
                  case --socket
                      set -e words[1]
                      set -q words[1]; and set -e words[1]
                  case '-*'
                      set -e words[1]
                  case '*'
                      printf '%s\\n' $words
                      return
              end
          end
      end
      # Whether the command is that one; '' stands for none yet.
      function __\(program)_is
          set -l words (__\(program)_words)
          test "$words[1]" = "$argv[1]"
      end
      """
    let begin = "complete -c \(program)"
    let first = "\(begin) -n '__\(program)_is \"\"'"
    let atHelp = "\(begin) -n '__\(program)_is help'"
    var lines = [functions, "\(begin) -f"]
    for option in OptionSpec.shared { lines.append(begin + fishOption(option)) }
    for command in commands {
      let word = " -a \(command.name) -d \(Self.quoted(command.summary))"
      lines += [first + word, atHelp + word]
    }
    lines.append(first + " -a help -d 'Shows help on a command.'")
    for command in commands {
      let begin = "\(begin) -n '__\(program)_is \(command.name)'"
      for option in command.options { lines.append(begin + fishOption(option)) }
      let words = fishWords(command.completes)
      if !words.isEmpty { lines.append(begin + words) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The options of `complete` for the words that may stand in a place; empty for none.
  private func fishWords(_ completion: Completion) -> String {
    switch completion {
    case .nothing: ""
    case .files: " -F"
    case .folders: " -a '(__fish_complete_directories)'"
    case .words(let words): " -a " + Self.quoted(words.joined(separator: " "))
    case .asked(let word): " -a '(\(program) completions \(word) -- (__\(program)_words)[2..-1] 2>/dev/null)'"
    }
  }

  private func fishOption(_ option: OptionSpec) -> String {
    var text = (option.short.map { " -s \($0)" } ?? "") + " -l \(option.name)"
    if option.value != nil {
      let words = fishWords(option.completes)
      text += (words == " -F" ? " -r" : " -x") + words
    }
    return text + " -d " + Self.quoted(option.summary)
  }
}
