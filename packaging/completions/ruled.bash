# Completes ruled in bash.
_ruled() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} files=''
  COMPREPLY=()
  case $previous in
    -c|--config|-S|--socket) files=-f ;;
    -r|--rules|--restore|--import) files=-d ;;
    -s|--store) mapfile -t COMPREPLY < <(compgen -W "rocksdb: memory: postgresql:" -- "$current"); return ;;
    --clock) mapfile -t COMPREPLY < <(compgen -W "manual" -- "$current"); return ;;
  esac
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$files" -- "$current")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "--config --rules --store --socket --clock --check --salvage --restore --hold-effects --import --help --version" -- "$current")
}
complete -F _ruled ruled
