#compdef ruled-courier
# Completes ruled-courier in zsh.
_arguments \
  '*'{-c,--config=}'[the configuration of ruled]:file:_files' \
  '*'{-S,--socket=}'[the Unix socket of ruled]:socket:_files' \
  '(- *)'{-h,--help}'[shows the options]' \
  '(- *)'{-V,--version}'[shows the version]'
