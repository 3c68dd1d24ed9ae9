/// The script by which a shell completes rulectl: it asks 'rulectl completions words' at each tab.
enum CompletionScript {
  /// The script of each shell that has one.
  static let all = ["bash": bash, "zsh": zsh, "fish": fish]

  private static let bash = #"""
    # Completes rulectl in bash.
    _rulectl() {
      local current=${COMP_WORDS[COMP_CWORD]} line words begun="" found word
      if [[ $current == [:=] ]]; then current=""; fi
      line=$(LC_ALL=C; printf %s "${COMP_LINE:0:COMP_POINT}")
      line=${line%"$current"}
      # bash breaks words at ':' and '=' and leaves their quotes. xargs reads a line as a shell does, and expands nothing.
      mapfile -d '' -t words < <(xargs -r printf '%s\0' <<< "$line" 2>/dev/null)
      COMPREPLY=()
      if [[ ${#words[@]} == 0 ]]; then return; fi
      if [[ $line != *[[:space:]] ]]; then
        begun=${words[-1]}
        unset 'words[-1]'
      fi
      mapfile -t found < <(rulectl completions words -- "${words[@]:1}" "$begun$current" 2>/dev/null)
      case ${found[0]} in
        files | folders)
          compopt -o filenames 2>/dev/null
          if [[ ${found[0]} == files ]]; then word=-f; else word=-d; fi
          mapfile -t words < <(compgen "$word" -- "$current")
          # compgen breaks a name at its line ends.
          for word in "${words[@]}"; do
            if [[ -e ${word/#\~/$HOME} || -L $word ]]; then COMPREPLY+=("$word"); fi
          done ;;
        *)
          compopt -o nospace 2>/dev/null
          # The names come from rules: bash must take them as they are, here and on its command line.
          for word in "${found[@]:1}"; do
            word=${word%%$'\t'*}
            if [[ $word != "$begun"* ]]; then continue; fi
            word=$(printf %q "${word#"$begun"}")
            if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
          done
          if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != *= ]]; then COMPREPLY[0]+=" "; fi ;;
      esac
    }
    complete -F _rulectl rulectl

    """#

  private static let zsh = #"""
    #compdef rulectl
    # Completes rulectl in zsh.
    _rulectl() {
      local -a found names
      found=(${(f)"$(rulectl completions words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
      if [[ $found == words ]]; then return 1; fi
      case $found[1] in
        files) compset -P '--*='; _files ;;
        folders) compset -P '--*='; _files -/ ;;
        *)
          names=("${(@)found[2,-1]%%$'\t'*}")
          if [[ $names[1] == *= ]]; then
            compadd -S '' -a names
          else
            found=("${(@)found[2,-1]/$'\t'/  -- }")
            compadd -l -d found -a names
          fi ;;
      esac
    }
    if [[ $funcstack[1] == _rulectl ]]; then _rulectl "$@"; else compdef _rulectl rulectl; fi

    """#

  private static let fish = #"""
    # Completes rulectl in fish.
    function __rulectl_offer
        set -l current (commandline -ct)
        set -l found (rulectl completions words -- (commandline -opc)[2..-1] "$current" 2>/dev/null)
        switch "$found[1]"
            case files folders
                # A command without completions of its own takes files.
                set -l paths (complete -C "__rulectl_path $current")
                if test $found[1] = folders
                    set paths (string match '*/' -- $paths)
                end
                printf '%s\n' $paths
            case '*'
                printf '%s\n' $found[2..-1]
        end
    end
    complete -c rulectl -f -a '(__rulectl_offer)'

    """#
}
