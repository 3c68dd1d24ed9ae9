internal import RuledCore
internal import RuledEngine
internal import RuledLua

struct ReplCompletion {
  static let commands: [(name: String, arguments: String, about: String)] = [
    (".event", "TYPE [key=value …]", "shows an event to the rules as they are on disk"),
    (".query", "PLUGIN.QUERY [key=value …]", "asks a query"), (".state", "[PLUGIN]", "shows the state in this session"),
    (".clock", "[1d]", "prints the time, or moves it forward first"), (".help", "", "shows this"),
    (".quit", "", "ends; so does Ctrl-D"),
  ]

  private static let names = ["_", "event", "state", "subject", "true", "false", "nil", "function", "local", "return"]

  let catalog: Catalog
  let states: JSONObject

  /// The words that the last word of a line may become, in order.
  func candidates(_ line: String) -> [String] {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let last = words.last ?? ""
    var all: [String]
    switch words.first {
    case let first? where words.count == 1 && first.hasPrefix("."): all = Self.commands.map(\.name)
    case ".event" where words.count == 2: all = Array(EventNames(catalog.plugins.map(\.manifest)).members.keys)
    case ".event": all = (EventNames(catalog.plugins.map(\.manifest)).members[words[1]] ?? []).map { "\($0)=" }
    case ".query" where words.count == 2:
      all = catalog.plugins.flatMap { plugin in plugin.manifest.queries.map { "\(plugin.name).\($0.name)" } }
    case ".state" where words.count == 2: all = catalog.plugins.map(\.name)
    case let first? where first.hasPrefix("."): all = []
    default: return names(line)
    }
    all = all.filter { $0.hasPrefix(last) }
    return Set(all).sorted()
  }

  /// How much of the end of a line a candidate replaces.
  static func word(of line: String) -> Substring {
    let isCommand = line.hasPrefix(".")
    let start = line.lastIndex { character in
      isCommand ? character == " " : !(character.isLetter || character.isNumber || character == "_" || character == ".")
    }
    return line[(start.map { line.index(after: $0) } ?? line.startIndex)...]
  }

  private func names(_ line: String) -> [String] {
    let word = String(Self.word(of: line))
    guard !word.isEmpty else { return [] }
    guard let dot = word.lastIndex(of: ".") else {
      let tables = ["math", "string", "table", "settings"]
      let all = RuleLibrary.functions.map { $0.table ?? $0.name } + Self.names + tables
      return Set(all.filter { $0.hasPrefix(word) }).sorted()
    }
    let (path, begun) = (String(word[..<dot]), word[word.index(after: dot)...])
    var members = RuleLibrary.members(of: path)
    if path == "state" || path.hasPrefix("state.") {
      var value: JSONValue? = .object(states)
      for step in path.split(separator: ".").dropFirst() { value = value?[String(step)] }
      members += value?.objectValue?.names ?? []
    }
    return Set(members.filter { $0.hasPrefix(begun) }).sorted().map { "\(path).\($0)" }
  }
}
