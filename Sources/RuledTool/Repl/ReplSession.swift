internal import RuledCore
internal import RuledEngine
internal import RuledLua
internal import RuledReports

/// Evaluates lines of Lua and events in memory, on a copy of a subject's state and with the rules as they are on disk.
final class ReplSession {
  /// The name under which a line is loaded as a plugin; an underscore is added while a plugin has it.
  private static let plugin = "repl"
  private static let event = "repl.line"
  private static let result = "repl.values"

  /// The rules in force, without the line's own.
  private(set) var catalog: Catalog
  let subject: String

  private let selection: RulesSelection?
  private let worker = LuaWorker()
  private let engine: LocalEngine
  private let log = TestLog()
  private var version: UInt64
  private var last: JSONValue = .null
  /// The time of a daemon whose clock is set by hand; nil where the host's clock counts.
  private let standing: Timestamp?
  /// How far the clock was moved, in microseconds.
  private var moved: Int64 = 0

  /// A session on a subject with these states by plugin; without a selection there are no rules.
  init(
    _ selection: RulesSelection?, subject: String, version: UInt64, states: JSONObject, standing: Timestamp? = nil
  ) throws {
    self.selection = selection
    self.subject = subject
    self.version = version
    self.standing = standing
    catalog = try Self.load(selection, worker)
    engine = try LocalEngine(
      catalog: catalog, lua: worker, start: standing ?? EngineClock.wall, log: log, keepsFailures: true)
    try engine.give(subject, version: version, states: states)
  }

  private static func load(_ selection: RulesSelection?, _ worker: LuaWorker) throws(ReloadError) -> Catalog {
    if let selection { return try selection.load(worker: worker) }
    return try CatalogBuilder.build(
      RulesSource(plugins: []), configuration: [:], previous: nil, worker: worker, now: Timestamp(microseconds: 0))
  }

  func states() throws -> JSONObject {
    var states = JSONObject()
    for plugin in catalog.plugins { states[plugin.name] = try engine.state(of: subject, plugin: plugin.name) }
    return states
  }

  // MARK: Time

  var now: Timestamp {
    let (time, overflow) = (standing ?? EngineClock.wall).microseconds.addingReportingOverflow(moved)
    return max(engine.now, overflow ? .maximum : min(Timestamp(microseconds: time), .maximum))
  }

  /// Moves the clock forward; timers that fall due fire.
  func advance(microseconds: Int64) throws {
    let (sum, overflow) = moved.addingReportingOverflow(microseconds)
    moved = overflow ? .max : sum
    try engine.set(now)
  }

  // MARK: Events and queries

  /// Reads the rules again and shows them an event; its changes stay in this session.
  ///
  /// - Returns: The outcome with its trace.
  func send(_ type: String, _ data: JSONValue?) throws -> JSONValue {
    catalog = try Self.load(selection, worker)
    engine.adopt(catalog)
    try engine.set(now)
    version += 1
    return try engine.event(
      .members(["type": .string(type), "subject": .string(subject), "data": data, "explain": true]))
  }

  /// The answer of a query by its full name.
  func query(_ name: String, _ arguments: JSONValue?) throws -> JSONValue {
    try engine.query(name, subject: subject, arguments: arguments)
  }

  /// Failures on timers and messages, and the rules' log lines, since the last call.
  func takeNotes() -> [String] {
    let failures = engine.takeFailures().map { "\($0.type) of \($0.subject): \(ReportedFailure($0.failure).line)" }
    return log.take() + failures
  }

  // MARK: Lines

  /// The values of a line as JSON, or as Lua shows a value without JSON, and its requests to the host, each with its kind: `sends`, `timers` and so on.
  typealias Answer = (values: [String], asked: [(kind: String, what: String)])

  /// Evaluates an expression, or else statements.
  ///
  /// `state` is a table of the plugins' states by name, `_` the last value.
  ///
  /// - Throws: `ToolError` with the reason.
  func runLua(_ line: String) throws -> Answer {
    let name = lineName
    let body = try Self.body(of: line)
    let sinks = Set(catalog.plugins.flatMap(\.manifest.sinks) + ["client"]).sorted()
    let text = """
      plugin { name = "\(name)", sinks = { \(sinks.map { JSONValue.string($0).text }.joined(separator: ", ")) } }
      rule "line" {
        on = "\(Self.event)",
        run = function(event, state)
          local subject, _ = event.subject, event.data.last
          local function line() \(body)
          end
          local values, shown = table.pack(line()), array {}
          for i = 1, values.n do
            local ok, text = pcall(json.encode, values[i])
            shown[i] = values[i] == nil and "nil" or ok and text or tostring(values[i])
          end
          decide("\(Self.result)", shown)
        end,
      }

      """
    let source = PluginSource(
      name: name, modules: [SourceFile(path: "\(name)/plugin.lua", text: Array(text.utf8))],
      library: catalog.source.plugins.first?.library ?? [])
    let states = try states()
    let known = catalog
    let extended: Catalog
    do throws(ReloadError) {
      extended = try CatalogBuilder.build(
        RulesSource(plugins: known.source.plugins + [source]), configuration: [:], previous: known, worker: worker,
        now: known.loadedAt)
    } catch { throw ToolError(error.errors.first.map(\.message) ?? "the line does not load") }
    engine.adopt(extended)
    defer { engine.adopt(known) }
    var all = states
    all[name] = .object(states)
    try engine.give(subject, version: version, states: all)
    try engine.set(now)
    let outcome = try engine.event([
      "type": .string(Self.event), "subject": .string(subject), "data": ["last": last], "explain": true,
    ])
    if let failure = outcome.elements("failures").first(where: { $0.member("plugin")?.stringValue == name }) {
      throw ToolError(failure.member("message")?.stringValue ?? "the line failed")
    }
    let values = outcome.member("decisions")?[name]?[Self.result]?.arrayValue?.compactMap(\.stringValue) ?? []
    last = values.last.flatMap { try? JSONValue(parsing: $0) } ?? .null
    return (values, Self.asked(outcome, by: name))
  }

  private var lineName: String {
    var name = Self.plugin
    while catalog.plugins.contains(where: { $0.name == name }) { name += "_" }
    return name
  }

  private static func body(of line: String) throws(ToolError) -> String {
    if (try? SyntaxTree(parsing: Array("return \(line)".utf8))) != nil { return "return \(line)" }
    do throws(SyntaxError) { _ = try SyntaxTree(parsing: Array(line.utf8)) } catch { throw ToolError(error.message) }
    return line
  }

  private static func asked(_ outcome: JSONValue, by plugin: String) -> [(kind: String, what: String)] {
    let entry = outcome.elements("trace").first {
      $0.member("plugin")?.stringValue == plugin && $0.member("fired")?.boolValue == true
    }
    let kinds = [
      ("decisions", "decides"), ("effects", "emits"), ("raised", "raises"), ("sends", "sends"), ("timers", "timers"),
      ("counts", "counts"), ("once", "once"), ("places", "places"), ("publishes", "publishes"), ("topics", "topics"),
      ("forgets", "forgets"),
    ]
    return kinds.flatMap { member, kind in
      (entry?.elements(member) ?? []).map(\.brief).filter { $0 != result }.map { (kind, $0) }
    }
  }
}
