import RuledCore
import RuledEngine
import RuledJSON
import RuledLua
import RuledStore

/// A local engine over plugins whose Lua stands in the test.
final class Engine {
  let local: LocalEngine
  let store: any StateStore
  private let worker = LuaWorker()

  /// Loads plugins by name; each text follows a `plugin { name = … }` with `manifest` in it.
  init(
    _ plugins: KeyValuePairs<String, String>, manifest: String = "sinks = { 'client', 'mail' }",
    store: any StateStore = MemoryStore(), start: Timestamp = LocalEngine.start,
    configuration: Configuration = Configuration(), log: any EventLog = NoLog()
  ) throws {
    self.store = store
    local = try LocalEngine(
      catalog: try Self.catalog(plugins, manifest: manifest, previous: nil, worker: worker), lua: worker, store: store,
      start: start, configuration: configuration, log: log)
  }

  private static func catalog(
    _ plugins: KeyValuePairs<String, String>, manifest: String, previous: Catalog?, worker: LuaWorker
  ) throws -> Catalog {
    let sources = plugins.map { name, text in
      let head = "plugin { name = '\(name)', \(manifest) } "
      return PluginSource(
        name: name, modules: [SourceFile(path: "\(name)/plugin.lua", text: Array((head + text).utf8))])
    }
    return try CatalogBuilder.build(
      RulesSource(plugins: sources), configuration: [:], previous: previous, worker: worker, now: LocalEngine.start)
  }

  /// Puts other plugins in force.
  func adopt(_ plugins: KeyValuePairs<String, String>, manifest: String = "sinks = { 'client', 'mail' }") throws {
    local.adopt(try Self.catalog(plugins, manifest: manifest, previous: local.evaluator.catalog, worker: worker))
  }

  /// Sends an event and answers its outcome.
  @discardableResult
  func send(
    _ type: String, _ data: JSONValue = [:], to subject: String = "user:1", _ more: JSONObject = [:]
  ) throws -> JSONValue {
    var event: JSONObject = ["type": .string(type), "subject": .string(subject), "data": data]
    for (name, value) in more { event[name] = value }
    return try local.event(.object(event))
  }

  /// The state of a plugin.
  func state(_ plugin: String, of subject: String = "user:1") throws -> JSONValue? {
    try local.state(of: subject, plugin: plugin)
  }

  /// The values that the store holds under keys of a kind, in order of the keys.
  func stored(_ kind: StoreKey.Kind) throws -> [JSONValue] {
    try local.contents().filter { $0.key.first == kind.rawValue }.map { entry in
      (try? JSONValue(parsing: String(decoding: entry.value, as: UTF8.self))) ?? .null
    }
  }

  func parked() throws -> [ParkedKey] {
    try local.contents().compactMap { entry in
      entry.key.withView { key in
        guard case .parked(let subject, let sequence)? = try? ParsedKey(key) else { return nil }
        return ParkedKey(subject: Array(subject), sequence: sequence)
      }
    }
  }

  /// Tries a parked part again.
  func retry(_ parked: ParkedKey) throws -> RetryResult? {
    let result = try local.evaluator.retry(parked)
    try local.runUntilIdle()
    return result
  }
}

extension JSONValue {
  /// The kinds of an outcome's failures.
  var failureKinds: [String] { (self["failures"]?.arrayValue ?? []).compactMap { $0["kind"]?.stringValue } }
}
