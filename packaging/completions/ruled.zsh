#compdef ruled
# Completes ruled in zsh.
_arguments \
  '*'{-c,--config=}'[the configuration]:file:_files' \
  '*'{-r,--rules=}'[the rules folder]:folder:_files -/' \
  '*'{-s,--store=}'[where the store is]:store:(rocksdb\: memory\: postgresql\:)' \
  '*'{-S,--socket=}'[the Unix socket to serve on]:socket:_files' \
  '*--clock=[for tests\: time stands still]:clock:(manual)' \
  '--check[checks what a start needs, and ends]' \
  '--salvage[saves what can be read of a damaged store]' \
  '*--restore=[makes a store of a backup]:folder:_files -/' \
  '--hold-effects[with --restore\: no effect is delivered until a release]' \
  '*--import=[copies a store into the empty log of a cluster]:folder:_files -/' \
  '(- *)'{-h,--help}'[shows the options]' \
  '(- *)'{-V,--version}'[shows the version]'
