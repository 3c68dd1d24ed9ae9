# Completes ruled-courier in bash.
_ruled_courier() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  case $previous in
    -c|--config|-S|--socket)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "--config --socket --help --version" -- "$current")
}
complete -F _ruled_courier ruled-courier
