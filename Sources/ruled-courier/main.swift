import Glibc
import RuledServer

exit(CourierCommand.run(Array(CommandLine.arguments.dropFirst())))
