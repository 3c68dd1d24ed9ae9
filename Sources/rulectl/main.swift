internal import Glibc
internal import RuledTool

let tool = CommandTable.tool(version: "0.1.0", more: [NewCommand.self, CheckCommand.self, TestCommand.self])
exit(tool.run(Array(CommandLine.arguments.dropFirst()), .process()).rawValue)
