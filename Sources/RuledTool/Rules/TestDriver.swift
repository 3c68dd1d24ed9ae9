internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// Executes the methods of a test's `t` on an engine of its own, for the plugin that is tested.
final class TestDriver: TestHost {
  private let engine: LocalEngine
  private let base: Catalog
  private let worker: LuaWorker
  private var plugin = ""
  private var settings = JSONObject()
  /// Catalogs with other settings of the plugin, by the settings' JSON.
  private var catalogs: [String: Catalog] = [:]

  /// A driver with these rules.
  init(_ catalog: Catalog, worker: LuaWorker, coverage: Coverage?) throws(RequestError) {
    base = catalog
    self.worker = worker
    engine = try LocalEngine(catalog: catalog, lua: worker, coverage: coverage)
  }

  /// Begins a test of a plugin with an empty store, the default time and the plugins' own settings.
  func begin(_ plugin: String) throws(RequestError) {
    if plugin != self.plugin { catalogs.removeAll() }
    self.plugin = plugin
    settings = JSONObject()
    try engine.renew(catalog: base)
  }

  func call(_ method: String, _ arguments: [JSONValue]) throws(TestFailure) -> [JSONValue] {
    let arguments = TestArguments(method, arguments)
    do {
      switch method {
      case "at": return try set(arguments)
      case "advance": return try advance(arguments)
      case "given": return try give(arguments)
      case "event": return [try event(arguments)]
      case "query": return [try query(arguments)]
      case "settings": return try overrideSettings(try arguments.object(0, "settings") ?? JSONObject())
      case "state":
        return [try engine.state(of: try arguments.text(0, "a subject"), plugin: plugin) ?? .object(JSONObject())]
      case "effects": return [.array(engine.effects(of: try arguments.text(0, "a subject")))]
      case "sent": return [.array(engine.sent.map(Self.message))]
      case "web": return try web(arguments)
      case "sink": return try sink(arguments)
      case "now": return [.number(Double(engine.now.microseconds) / 1e6)]
      default: throw TestFailure("a test can't \(method)")
      }
    } catch let error as TestFailure {
      throw error
    } catch let error as RequestError {
      throw TestFailure(Self.description(of: error))
    } catch let error as Failure {
      throw TestFailure(Self.description(of: error))
    } catch {
      throw TestFailure("\(error)")
    }
  }

  // MARK: Time

  private func set(_ arguments: TestArguments) throws -> [JSONValue] {
    if let seconds = arguments.value(0)?.doubleValue {
      try engine.set(Timestamp(seconds: seconds))
      return []
    }
    let text = try arguments.text(0, "a time")
    guard let time = Timestamp(rfc3339: text) else {
      throw TestFailure("t:at takes a time in RFC 3339 such as \"2025-11-10T08:00:00Z\", not '\(text)'")
    }
    try engine.set(time)
    return []
  }

  private func advance(_ arguments: TestArguments) throws -> [JSONValue] {
    let text = try arguments.text(0, "a duration")
    guard let duration = DurationText.parse(text) else {
      throw TestFailure("t:advance takes a duration such as \"90s\", \"5m\", \"48h\" or \"14d\", not '\(text)'")
    }
    try engine.advance(microseconds: duration)
    return []
  }

  // MARK: Events and queries

  /// Gives a subject a version and states, as if events had made them.
  private func give(_ arguments: TestArguments) throws -> [JSONValue] {
    let subject = try arguments.text(0, "a subject")
    guard let version = arguments.value(1)?.intValue, version >= 0 else {
      throw TestFailure("t:given: argument 2 must be the subject's version, a whole number from 0 on")
    }
    let states = try arguments.object(2, "the plugins' states by name") ?? JSONObject()
    try engine.give(subject, version: UInt64(version), states: states)
    return []
  }

  private func event(_ arguments: TestArguments) throws -> JSONValue {
    var event: JSONObject = [
      "subject": .string(try arguments.text(0, "a subject")), "type": .string(try arguments.text(1, "an event type")),
    ]
    if let data = arguments.value(2) { event["data"] = data }
    for (name, value) in try arguments.object(3, "options") ?? JSONObject() { event[name] = value }
    if let time = event["time"], time.stringValue.flatMap({ Timestamp(rfc3339: $0) }) == nil {
      throw TestFailure("t:event's option 'time' must be a time in RFC 3339, not \(time.text)")
    }
    guard var outcome = try engine.event(.object(event)).objectValue else { return .null }
    let all = outcome["decisions"] ?? .object(JSONObject())
    outcome["all"] = all
    outcome["decisions"] = all[plugin] ?? .object(JSONObject())
    return .object(outcome)
  }

  private func query(_ arguments: TestArguments) throws -> JSONValue {
    let name = try arguments.text(1, "a query's name")
    let subject = arguments.value(0) == nil ? nil : try arguments.text(0, "a subject or nil")
    let isOwn = !name.contains(".") || base.query("\(plugin).\(name)") != nil
    return try engine.query(isOwn ? "\(plugin).\(name)" : name, subject: subject, arguments: arguments.value(2))
  }

  /// Overrides settings of the plugin until the test ends.
  private func overrideSettings(_ values: JSONObject) throws -> [JSONValue] {
    for (name, value) in values { settings[name] = value }
    let text = JSONValue.object(settings).text
    if catalogs[text] == nil {
      var configured = Configuration.Plugin()
      configured.settings = settings
      if catalogs.count >= 32 { catalogs.removeAll() }
      do throws(ReloadError) {
        catalogs[text] = try CatalogBuilder.build(
          base.source, configuration: [plugin: configured], previous: base, worker: worker, now: base.loadedAt)
      } catch {
        throw TestFailure(
          "with these settings the plugin does not load: \(error.errors.map(\.description).joined(separator: "; "))")
      }
    }
    if let catalog = catalogs[text] { engine.adopt(catalog) }
    return []
  }

  private static func message(_ stored: [UInt8]) -> JSONValue {
    let message = stored.withUnsafeBytes { try? JSONValue(parsing: $0) }
    var visible = JSONObject()
    for name in ["subject", "type", "data", "from"] { visible[name] = message?[name] }
    return .object(visible)
  }

  // MARK: Handlers

  private func web(_ arguments: TestArguments) throws -> [JSONValue] {
    guard var request = try arguments.object(0, "a request") else { throw TestFailure("t:web takes a table") }
    guard let host = request["host"]?.stringValue else { throw TestFailure("t:web needs a 'host'") }
    request["method"] = request["method"] ?? "GET"
    request["path"] = request["path"] ?? "/"
    request["headers"] = request["headers"] ?? [:]
    request["body"] = request["body"] ?? ""
    if request["query_string"] == nil {
      let pairs = request["query"]?.objectValue ?? JSONObject()
      request["query_string"] = .string(
        pairs.map { "\($0.name)=\($0.value.stringValue ?? $0.value.text)" }.joined(separator: "&"))
    }
    if request["query"] == nil {
      var query = JSONObject()
      let url = try? URLText.parse("http://host/?\(request["query_string"]?.stringValue ?? "")")
      for parameter in url?.query ?? [] where query[parameter.name] == nil {
        query[parameter.name] = .string(parameter.value)
      }
      request["query"] = .object(query)
    }
    let text = Array(JSONValue.object(request).text.utf8)
    let buffer = ByteBuffer(capacity: text.count)
    text.withUnsafeBytes { buffer.append($0) }
    guard let answer = try engine.evaluator.handlers.web(host: Self.normalized(host: host), request: buffer.bytes)
    else {
      throw TestFailure("no plugin answers for the host '\(host)'")
    }
    return answer[0].map { [$0] } ?? []
  }

  /// A host in lower case, without port and trailing dot, as hosts are compared.
  private static func normalized(host: String) -> String {
    let name = host.lowercased().prefix { $0 != ":" }
    return String(name.hasSuffix(".") ? name.dropLast() : name)
  }

  private func sink(_ arguments: TestArguments) throws -> [JSONValue] {
    guard let effect = try arguments.object(0, "an effect") else { throw TestFailure("t:sink takes an effect") }
    let name = arguments.value(1)?.stringValue ?? effect["sink"]?.stringValue ?? ""
    let buffer = ByteBuffer(capacity: 512)
    JSONValue.object(effect).write(to: buffer)
    let owner = effect["plugin"]?.stringValue ?? plugin
    guard let answer = try engine.evaluator.handlers.sink(name, plugin: owner, effect: buffer.bytes) else {
      throw TestFailure("plugin '\(owner)' has no handler for the sink '\(name)'")
    }
    guard let request = answer[0], !request.isNull else { return [.null, answer[1] ?? .null] }
    return [request]
  }

  // MARK: Errors

  private static func description(of error: RequestError) -> String {
    let file = error.details.first { $0.name == "file" }?.value.stringValue
    let line = error.details.first { $0.name == "line" }?.value.intValue
    guard let file, let line else { return error.message }
    return "\(error.message) (at \(file):\(line))"
  }

  private static func description(of failure: Failure) -> String {
    guard let file = failure.file, let line = failure.line else { return failure.message }
    return "\(failure.message) (at \(file):\(line))"
  }
}

/// The arguments of a call of a method of `t`.
private struct TestArguments {
  private let method: String
  private let values: [JSONValue]

  init(_ method: String, _ values: [JSONValue]) {
    self.method = method
    self.values = values
  }

  /// The argument at `index`; nil when it is nil or left out.
  func value(_ index: Int) -> JSONValue? {
    guard index < values.count, !values[index].isNull else { return nil }
    return values[index]
  }

  /// The argument at `index`, which must be a string; `what` names it in the error.
  func text(_ index: Int, _ what: String) throws(TestFailure) -> String {
    guard let text = value(index)?.stringValue else {
      throw TestFailure("t:\(method): argument \(index + 1) must be \(what)")
    }
    return text
  }

  /// The argument at `index`, which must be a table; nil when it is nil or left out.
  func object(_ index: Int, _ what: String) throws(TestFailure) -> JSONObject? {
    guard let value = value(index) else { return nil }
    guard let object = value.objectValue else {
      throw TestFailure("t:\(method): argument \(index + 1) must be a table: \(what)")
    }
    return object
  }
}
