# Completes ruled-courier in fish.
complete -c ruled-courier -f
complete -c ruled-courier -s c -l config -r -F -d 'The configuration of ruled'
complete -c ruled-courier -s S -l socket -r -F -d 'The Unix socket of ruled'
complete -c ruled-courier -s h -l help -d 'Shows the options'
complete -c ruled-courier -s V -l version -d 'Shows the version'
