internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// A plugin's decisions and effects on example events: the first example of each.
struct PluginExamples {
  /// By event type, the first event as it was sent on which the plugin decided something else than an error, or the next best.
  private(set) var events: [String: (event: JSONValue, decisions: JSONValue)] = [:]
  private(set) var decisions: [String: JSONValue] = [:]
  /// Effects, in the order of their first occurrence.
  private(set) var effects: [(sink: String, type: String, data: JSONValue)] = []
  private(set) var answers: [String: JSONValue] = [:]

  private let plugin: String

  init(_ plugin: String) { self.plugin = plugin }

  /// Evaluates the events of a file in memory, each at its time; a file that does not exist has none.
  mutating func run(_ path: String, _ catalog: Catalog, _ worker: LuaWorker, _ environment: ToolEnvironment) throws {
    guard access(path, F_OK) == 0 else { return }
    let engine = try LocalEngine(catalog: catalog, lua: worker)
    let input = try environment.open(path)
    var subjects: [String] = []
    while let line = try input.nextLine() {
      guard let event = line.withView({ try? JSONValue(parsing: $0) }), event.objectValue != nil else {
        continue
      }
      if let time = event["time"]?.stringValue.flatMap({ Timestamp(rfc3339: $0) }) { try engine.set(time) }
      if let subject = event["subject"]?.stringValue, !subjects.contains(subject) { subjects.append(subject) }
      note(event, try engine.event(event))
    }
    guard let manifest = catalog.plugins.first(where: { $0.name == plugin })?.manifest else { return }
    for query in manifest.queries {
      for subject in subjects.map(Optional.some) + [nil] {
        let answer = try? engine.query("\(plugin).\(query.name)", subject: subject, arguments: nil)
        guard let answer, !answer.isNull else { continue }
        let isLonger = answer.text.utf8.count > answers[query.name]?.text.utf8.count ?? 0
        if isLonger { answers[query.name] = answer }
      }
    }
  }

  /// How good an example decisions are: some are better than none, and than an error.
  private static func rank(_ decisions: JSONValue) -> Int {
    decisions["error"] == nil ? (decisions.objectValue?.isEmpty ?? true ? 0 : 2) : 1
  }

  private mutating func note(_ event: JSONValue, _ outcome: JSONValue) {
    let type = event["type"]?.stringValue ?? ""
    let decided = outcome["decisions"]?[plugin] ?? [:]
    let rank = Self.rank(decided)
    if events[type].map({ Self.rank($0.decisions) < rank }) ?? true {
      events[type] = (event, decided)
    }
    for (key, value) in decided.objectValue ?? [:] where decisions[key] == nil { decisions[key] = value }
    for effect in outcome["effects"]?.arrayValue ?? [] where effect["plugin"]?.stringValue == plugin {
      let sink = effect["sink"]?.stringValue ?? "", type = effect["type"]?.stringValue ?? ""
      guard !effects.contains(where: { $0.sink == sink && $0.type == type }) else { continue }
      effects.append((sink, type, effect["data"] ?? [:]))
    }
  }
}
