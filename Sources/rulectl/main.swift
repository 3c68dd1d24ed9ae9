internal import Glibc
internal import RuledTool

exit(Tool().run(Array(CommandLine.arguments.dropFirst()), .process()).rawValue)
