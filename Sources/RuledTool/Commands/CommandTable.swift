/// The commands of `rulectl`.
package enum CommandTable {
  /// Those that talk to a daemon, in the order in which help lists them.
  package static var ofDaemon: [any Command.Type] {
    [
      EventCommand.self, QueryCommand.self, ExplainCommand.self, StateCommand.self, SubjectsCommand.self,
      ExportCommand.self, ForgetCommand.self, WatchCommand.self, RulesCommand.self, ReloadCommand.self,
      ParkedCommand.self, RetryCommand.self, DropCommand.self, CountersCommand.self, HealthCommand.self,
      ClockCommand.self, TopCommand.self, BenchCommand.self,
    ]
  }

  /// `rulectl`, as a program.
  ///
  /// - Parameters:
  ///   - version: What `--version` says.
  ///   - more: Commands beside those that talk to a daemon, such as those that work on files alone.
  /// - Returns: The program.
  package static func tool(version: String, more: [any Command.Type] = []) -> Tool {
    Tool(
      name: "rulectl", version: version, about: "Talks to ruled, the daemon that turns events into decisions.",
      commands: ofDaemon + more + [CompletionsCommand.self],
      examples: [
        .init("rulectl event app.launched device:9f2c platform=ios", "sends an event and shows the decisions"),
        .init("rulectl explain launched.json", "which rules would fire, and why not the others"),
        .init("rulectl watch --prefix user:", "changes as they happen"),
        .init("source <(rulectl completions bash)", "completes commands in this shell"),
      ])
  }
}
