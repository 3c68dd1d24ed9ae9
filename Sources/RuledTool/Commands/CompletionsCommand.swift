internal import RuledCore
internal import RuledLua

enum CompletionsCommand: Command {
  static let spec = CommandSpec(
    "completions", "Prints a script that completes commands and options in a shell.",
    synopsis: ["bash|zsh|fish", "words -- [WORD…]"], required: ["SHELL"], optional: CommandSpec.any,
    completes: .words(["bash", "zsh", "fish"]),
    details: """
      The scripts ask 'rulectl completions words' for what may stand in the place of the last word. So they complete
      event types and the members of an event's data, too: those that the daemon's plugins describe, or else those in
      'rules'.
      """,
    examples: [
      .init("source <(rulectl completions bash)", "for this shell"),
      .init("rulectl completions zsh > ~/.zfunc/_rulectl", "permanently, in a folder of $fpath"),
      .init("rulectl completions fish > ~/.config/fish/completions/rulectl.fish", "permanently"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let shell = arguments.operands[0]
    if shell == "words" {
      let offer = offer(arguments.operands.dropFirst(), environment)
      environment.output.write("\(offer.kind)\n")
      // Each line is a word, so a word that would have to be escaped can't be offered.
      for (word, about) in offer.words where word.printable == word {
        environment.output.write(about.isEmpty ? "\(word)\n" : "\(word)\t\(about)\n")
      }
      return .done
    }
    guard arguments.operands.count == 1 else {
      throw UsageError("one shell at a time; leave out '\(arguments.operands[1])'")
    }
    guard let script = CompletionScript.all[shell] else {
      throw UsageError("there are no completions for '\(shell)'; write bash, zsh or fish")
    }
    environment.output.write(script)
    return .done
  }

  /// The words that may stand in a place, each with a line about it, or that it takes `files` or `folders`.
  private typealias Offer = (kind: String, words: [(word: String, about: String)])

  /// The words that may stand in the place of the last one after the program's name.
  private static func offer(_ line: ArraySlice<String>, _ environment: ToolEnvironment) -> Offer {
    var words = line
    let current = words.popLast() ?? "", previous = words.last
    while let first = words.first, first.hasPrefix("-") { words = words.dropFirst(first == "--socket" ? 2 : 1) }
    let commands = environment.commands.map { (word: $0.name, about: $0.summary) }
    let command = words.first.flatMap { name in environment.commands.first { $0.name == name } }
    let options = command.map { $0.options + OptionSpec.shared(besides: $0.options) } ?? OptionSpec.shared
    for option in options where option.value != nil {
      if current.hasPrefix("--\(option.name)=") {
        let offer = offer(option.completes, [], environment)
        return (offer.kind, offer.words.map { ("--\(option.name)=\($0.word)", "") })
      }
      if previous == "--\(option.name)" || previous != nil && previous == option.short.map({ "-\($0)" }) {
        return offer(option.completes, [], environment)
      }
    }
    if words.first == "help" { return ("words", commands) }
    if current.hasPrefix("-") { return ("words", options.map { ("--\($0.name)", $0.summary) }) }
    guard let command else {
      return ("words", words.isEmpty ? commands + [("help", "Shows help on a command.")] : [])
    }
    return offer(command.completes, words.dropFirst(), environment)
  }

  private static func offer(
    _ completion: Completion, _ words: ArraySlice<String>, _ environment: ToolEnvironment
  ) -> Offer {
    switch completion {
    case .nothing: ("words", [])
    case .files: ("files", [])
    case .folders: ("folders", [])
    case .words(let words): ("words", words.map { ($0, "") })
    case .event: ("words", candidates(after: words, environment).map { ($0, "") })
    }
  }

  /// The words that `rulectl event` may go on with, by the daemon's rules or those on disk.
  ///
  /// Event types come first, then members of the type's data that are not given yet, as `key=`.
  private static func candidates(after words: ArraySlice<String>, _ environment: ToolEnvironment) -> [String] {
    let options = EventCommand.spec.options + OptionSpec.shared
    guard let operands = try? ArgumentParser.parse(words, options: options).operands else { return [] }
    let shown = try? environment.connect().call("rules", [:])
    let events = shown.map(EventNames.init(shown:)) ?? EventNames(onDisk())
    guard let type = operands.first else { return events.members.keys.sorted() }
    guard operands.count > 1 else { return [] }
    let given = operands.dropFirst(2).map { $0.prefix { $0 != "=" } }
    return events.members[type, default: []].sorted().filter { key in !given.contains { $0 == key } }.map { "\($0)=" }
  }

  private static func onDisk() -> [PluginManifest] {
    guard let selection = try? RulesSelection([]) else { return [] }
    let worker = LuaWorker()
    // While rules are edited, some of them may not load.
    return selection.readable().plugins.map { source in
      let notes = LoadNotes()
      _ = try? PluginVM(source: source, worker: worker, noting: notes)
      return notes.manifest
    }
  }
}

/// The event types that plugins know, with the members of their data that they describe, for completion.
struct EventNames {
  private(set) var members: [String: Set<String>] = [:]

  /// The types that rules listen to or that plugins describe; patterns are left out.
  init(_ plugins: [PluginManifest]) {
    for case .exact(let type) in plugins.flatMap({ $0.rules.flatMap(\.on) }) { add(type, []) }
    for event in plugins.flatMap(\.events) { add(event.type, event.data.members.map(\.name)) }
  }

  /// The types that the plugins describe of which a daemon shows the rules.
  init(shown rules: JSONValue) {
    for event in rules.elements("plugins").flatMap({ $0.elements("events") }) {
      let names = event.member("data")?.objectValue?.names ?? []
      // The name of an optional object ends in '?'.
      add(event.word("type", else: ""), names.map { $0.hasSuffix("?") ? String($0.dropLast()) : $0 })
    }
  }

  private mutating func add(_ type: String, _ names: [String]) { members[type, default: []].formUnion(names) }
}
