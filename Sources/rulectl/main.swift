internal import Glibc
internal import RuledTool

exit(Tool.rulectl(version: "0.1.0").run(Array(CommandLine.arguments.dropFirst()), .process()).rawValue)
