internal import RuledCore
internal import RuledLua

enum CompletionsCommand: Command {
  static let spec = CommandSpec(
    "completions", "Prints a script that completes commands and options in a shell.",
    synopsis: ["bash|zsh|fish", "event -- [WORD…]"], required: ["SHELL"], optional: CommandSpec.any,
    completes: .words(["bash", "zsh", "fish"]),
    details: """
      The scripts complete event types and the members of an event's data, too: they ask 'rulectl completions event',
      which takes them from what the daemon's plugins describe, or else those in 'rules'.
      """,
    examples: [
      .init("source <(rulectl completions bash)", "for this shell"),
      .init("rulectl completions zsh > ~/.zfunc/_rulectl", "permanently, in a folder of $fpath"),
      .init("rulectl completions fish > ~/.config/fish/completions/rulectl.fish", "permanently"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let shell = arguments.operands[0]
    if shell == "event" {
      let words = candidates(after: arguments.operands.dropFirst(), environment)
      // Each line is a word, so a word that would have to be escaped can't be offered.
      for word in words where word.printable == word { environment.output.write(word + "\n") }
      return .done
    }
    guard arguments.operands.count == 1 else {
      throw UsageError("one shell at a time; leave out '\(arguments.operands[1])'")
    }
    let script = CompletionScript(program: environment.program, commands: environment.commands)
    switch shell {
    case "bash": environment.output.write(script.bash)
    case "zsh": environment.output.write(script.zsh)
    case "fish": environment.output.write(script.fish)
    default: throw UsageError("there are no completions for '\(shell)'; write bash, zsh or fish")
    }
    return .done
  }

  /// The words that `rulectl event` may go on with, by the daemon's rules or those on disk.
  ///
  /// Event types come first, then members of the type's data that are not given yet, as `key=`.
  private static func candidates(after words: ArraySlice<String>, _ environment: ToolEnvironment) -> [String] {
    let options = EventCommand.spec.options + OptionSpec.shared
    guard let operands = try? ArgumentParser.parse(words, options: options).operands else { return [] }
    let events = described(environment) ?? onDisk()
    guard let type = operands.first else { return events.keys.sorted() }
    guard operands.count > 1 else { return [] }
    let given = operands.dropFirst(2).map { $0.prefix { $0 != "=" } }
    return events[type, default: []].sorted().filter { key in !given.contains { $0 == key } }.map { "\($0)=" }
  }

  /// The events that the daemon's plugins describe; nil if it can't be asked.
  private static func described(_ environment: ToolEnvironment) -> [String: Set<String>]? {
    guard let rules = try? environment.connect().call("rules", [:]) else { return nil }
    var events: [String: Set<String>] = [:]
    for event in rules.elements("plugins").flatMap({ $0.elements("events") }) {
      // The name of an optional object ends in '?'.
      let names = (event.member("data")?.objectValue?.names ?? [])
        .map { $0.hasSuffix("?") ? String($0.dropLast()) : $0 }
      events[event.member("type")?.stringValue ?? "", default: []].formUnion(names)
    }
    return events
  }

  private static func onDisk() -> [String: Set<String>] {
    guard let selection = try? RulesSelection([]) else { return [:] }
    let worker = LuaWorker()
    // While rules are edited, some of them may not load.
    let plugins = selection.readable().plugins.map { source in
      let notes = LoadNotes()
      _ = try? PluginVM(source: source, worker: worker, noting: notes)
      return notes.manifest
    }
    let types = EventNames.types(of: plugins).map { ($0, Set(EventNames.keys(of: $0, plugins))) }
    return Dictionary(uniqueKeysWithValues: types)
  }
}

/// The event types that plugins know, and the members of their data, for completion.
enum EventNames {
  /// The types that rules listen to or that plugins describe, in order; patterns are left out.
  static func types(of plugins: [PluginManifest]) -> [String] {
    let heard = plugins.flatMap { $0.rules.flatMap(\.on) }.filter(\.isExact).map(\.text)
    return Set(heard + plugins.flatMap { $0.events.map(\.type) }).sorted()
  }

  /// The members that plugins describe of a type's data, in order.
  static func keys(of type: String, _ plugins: [PluginManifest]) -> [String] {
    Set(plugins.flatMap { $0.events }.filter { $0.type == type }.flatMap { $0.data.members.map(\.name) }).sorted()
  }
}
