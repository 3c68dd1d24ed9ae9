import Glibc
import RuledDaemon

exit(ServeCommand.run(Array(CommandLine.arguments.dropFirst())))
