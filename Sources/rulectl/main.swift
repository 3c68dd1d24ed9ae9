internal import Glibc
internal import RuledTool

exit(Tool.rulectl.run(Array(CommandLine.arguments.dropFirst()), .process()).rawValue)
