# Completes ruled in fish.
complete -c ruled -f
complete -c ruled -s c -l config -r -F -d 'The configuration'
complete -c ruled -s r -l rules -x -a '(__fish_complete_directories)' -d 'The rules folder'
complete -c ruled -s s -l store -x -a 'rocksdb: memory: postgresql:' -d 'Where the store is'
complete -c ruled -s S -l socket -r -F -d 'The Unix socket to serve on'
complete -c ruled -l clock -x -a manual -d 'For tests: time stands still'
complete -c ruled -l check -d 'Checks what a start needs, and ends'
complete -c ruled -l salvage -d 'Saves what can be read of a damaged store'
complete -c ruled -l restore -x -a '(__fish_complete_directories)' -d 'Makes a store of a backup'
complete -c ruled -l hold-effects -d 'With --restore: no effect is delivered until a release'
complete -c ruled -l import -x -a '(__fish_complete_directories)' -d 'Copies a store into the empty log of a cluster'
complete -c ruled -s h -l help -d 'Shows the options'
complete -c ruled -s V -l version -d 'Shows the version'
