import Glibc
import RuledServer

exit(ServeCommand.run(Array(CommandLine.arguments.dropFirst())))
