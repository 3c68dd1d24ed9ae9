internal import RuledCore
internal import RuledEngine
internal import RuledJSON
internal import RuledLua
internal import RuledWire

/// Executes the methods of a test's `t` on an engine of its own, for the plugin that is tested.
final class TestDriver: TestHost {
  /// A test's steps so far.
  private struct Course {
    /// The settings that the test overrides, by plugin.
    var settings: [String: JSONObject] = [:]
    /// The events of the test with their outcomes, and the subjects that they name, for snapshots.
    var events: [JSONValue] = []
    var subjects: [String] = []
  }

  let engine: LocalEngine
  /// The failures of rules that the test did not expect.
  private(set) var failures = TestFailures()
  private(set) var plugin = ""
  /// Whether the test says that it was captured, so that it has to run a rule.
  private(set) var isCaptured = false
  /// Whether the test has compared a snapshot.
  private(set) var hasCompared = false
  /// Why the plugin's rules heard nothing of an event, the first of those whose source it does not take.
  private(set) var unheard: String?
  var locations: () -> [TestLocation] = { [] }

  private var base: Catalog
  private let worker: LuaWorker
  private let coverage: Coverage?
  private let log = TestLog()
  private let options: TestOptions
  private var course = Course()
  /// Catalogs with other settings, by the settings' JSON.
  private var catalogs: [String: Catalog] = [:]
  /// The places to return to, each with the number of failures until then.
  private var marks: [(moment: LocalEngine.Moment, course: Course, failures: Int)] = []

  init(_ catalog: Catalog, worker: LuaWorker, coverage: Coverage?, options: TestOptions) throws(RequestError) {
    base = catalog
    self.worker = worker
    self.coverage = coverage
    self.options = options
    engine = try LocalEngine(catalog: catalog, lua: worker, log: log, coverage: coverage, keepsFailures: true)
  }

  /// Puts other rules in force for the tests that follow.
  func adopt(_ catalog: Catalog) {
    base = catalog
    catalogs.removeAll()
  }

  /// Begins a test of a plugin with an empty store, the default time and the plugins' own settings.
  func begin(_ plugin: String) throws(RequestError) {
    if plugin != self.plugin { catalogs.removeAll() }
    self.plugin = plugin
    (course, failures, marks) = (Course(), TestFailures(), [])
    (isCaptured, hasCompared, unheard) = (false, false, nil)
    _ = log.take()
    try engine.renew(catalog: base)
  }

  func takeLog() -> [String] { log.take() }

  func call(_ method: String, _ arguments: [JSONValue]) throws(TestFailure) -> [JSONValue] {
    let arguments = TestArguments(method: method, values: arguments)
    defer { noteFailures() }
    do {
      switch method {
      case "at": try set(arguments)
      case "advance": try advance(arguments)
      case "given": try give(arguments)
      case "event": return [try event(arguments)]
      case "query": return [try query(arguments)]
      case "settings": try override(arguments)
      case "decided": return [engine.decided(of: try arguments.text(0, "a subject")) ?? .object(JSONObject())]
      case "state":
        return [try engine.state(of: try arguments.text(0, "a subject"), plugin: plugin) ?? .object(JSONObject())]
      case "board": return [engine.board(try arguments.text(0, "a board's name"), of: plugin)]
      case "effects": return [.array(engine.effects(of: try arguments.text(0, "a subject")))]
      case "sent": return [.array(engine.sent.map(Self.message))]
      case "web": return try web(arguments)
      case "sink": return try sink(arguments)
      case "now": return [.number(Double(engine.now.microseconds) / 1e6)]
      case "captured": isCaptured = true
      case "counters": return [engine.listedCounters]
      case "failing": try letFail(arguments)
      case "retry": try retry(arguments)
      case "failures": return [.array(failures.take().map(\.json))]
      case "snapshot": try snapshot(arguments)
      case "replay": return [try replay(try arguments.text(0, "the name of a file of events"))]
      case "number": return [.integer(Int64(failures.outcomes))]
      case "expect": failures.expect(outcome: Int(arguments.value(0)?.intValue ?? 0))
      case "mark": try mark()
      case "restore": return try restore()
      case "seed": return [.integer(Int64(options.seed))]
      default: throw TestFailure("a test can't \(method)")
      }
      return []
    } catch let error as TestFailure {
      throw error
    } catch let error as RequestError {
      throw TestFailure(Self.description(of: error))
    } catch let error as Failure {
      throw TestFailure(Self.text(error.message, error.file, error.line.map { Int64($0) }))
    } catch {
      throw TestFailure("\(error)")
    }
  }

  private func noteFailures() {
    for failed in engine.takeFailures() {
      failures.add([failed.failure], type: failed.type, subject: failed.subject, isOutcome: false, at: locations)
    }
  }

  // MARK: Time

  private func set(_ arguments: TestArguments) throws {
    if let seconds = arguments.value(0)?.doubleValue {
      return try engine.set(Timestamp(seconds: seconds))
    }
    let text = try arguments.text(0, "a time")
    guard let time = Timestamp(rfc3339: text) else {
      throw TestFailure("t:at takes a time in RFC 3339 such as \"2025-11-10T08:00:00Z\", not '\(text)'")
    }
    try engine.set(time)
  }

  private func advance(_ arguments: TestArguments) throws {
    let text = try arguments.text(0, "a duration such as \"90s\"")
    guard let duration = DurationText.parse(text, allowsZero: true) else {
      throw TestFailure("t:advance takes a duration such as \"90s\", \"1h30m\", \"14d\" or \"1w\", not '\(text)'")
    }
    try engine.advance(microseconds: duration)
  }

  // MARK: Events and queries

  private func event(_ arguments: TestArguments) throws -> JSONValue {
    var event: JSONObject = [
      "subject": .string(try arguments.text(0, "a subject")), "type": .string(try arguments.text(1, "an event type")),
    ]
    if let data = arguments.value(2) { event["data"] = data }
    for (name, value) in try arguments.object(3, "options") ?? JSONObject() { event[name] = value }
    return try send(event)
  }

  private func send(_ event: JSONObject) throws -> JSONValue {
    let document = TapeDocument()
    let text = ByteBuffer(capacity: 256)
    JSONValue.object(event).write(to: text)
    let type = event["type"]?.stringValue ?? "", subject = event["subject"]?.stringValue ?? ""
    _ = try EventView(try? document.parse(copyOf: text.bytes), text: text.bytes, path: "event")
    let answer: JSONValue
    do throws(RequestError) { answer = try engine.event(.object(event)) } catch {
      guard error.code == .invalidParams else { throw error }
      throw TestFailure("the daemon refuses '\(type)': \(Self.description(of: error))")
    }
    guard var outcome = answer.objectValue else { return .null }
    let all = outcome["decisions"] ?? .object(JSONObject())
    var seen = JSONObject()
    seen["event"] = .object(event)
    seen["decisions"] = all
    for name in ["effects", "failures"] { seen[name] = outcome[name] }
    course.events.append(.object(seen))
    noteUnheard(type, source: event["source"]?.stringValue ?? "")
    course.subjects.append(subject)
    if outcome["duplicate"]?.boolValue != true {
      failures.add(
        outcome["failures"]?.arrayValue ?? [], type: type, subject: subject, isOutcome: true, at: locations)
    }
    let effects = outcome["effects"]?.arrayValue ?? []
    if !effects.isEmpty {
      let known = outcome["duplicate"]?.boolValue == true ? engine.effects(of: subject) : []
      let delivered = LocalEngine.delivered(effects, of: subject, at: engine.now)
      outcome["effects"] = .array(delivered.map { effect in known.first { $0["id"] == effect["id"] } ?? effect })
    }
    outcome["all"] = all
    outcome["decisions"] = all[plugin] ?? .object(JSONObject())
    return .object(outcome)
  }

  private func noteUnheard(_ type: String, source: String) {
    guard unheard == nil, let manifest = base.plugins.first(where: { $0.name == plugin })?.manifest,
      !manifest.accepts(source: source), manifest.rules.contains(where: { $0.on.contains { $0.matches(type) } })
    else { return }
    unheard = "no rule of '\(plugin)' heard '\(type)': \(manifest.refusal(ofSource: source))"
  }

  /// Sends the events of a file, each at its own time if it has one and the clock is not past it.
  private func replay(_ name: String) throws -> JSONValue {
    var outcomes: [JSONValue] = []
    for event in try files.events(in: name) {
      if let time = event["time"]?.stringValue.flatMap({ Timestamp(rfc3339: $0) }),
        time.microseconds > engine.now.microseconds
      {
        try engine.set(time)
      }
      outcomes.append(try send(event))
    }
    return .array(outcomes)
  }

  private func query(_ arguments: TestArguments) throws -> JSONValue {
    let name = try arguments.text(1, "a query's name")
    let subject = arguments.value(0) == nil ? nil : try arguments.text(0, "a subject or nil")
    let isOwn = !name.contains(".") || base.query("\(plugin).\(name)") != nil
    return try engine.query(isOwn ? "\(plugin).\(name)" : name, subject: subject, arguments: arguments.value(2))
  }

  private static func message(_ stored: [UInt8]) -> JSONValue {
    let message = stored.withView { try? JSONValue(parsing: $0) }
    var visible = JSONObject()
    for name in ["subject", "type", "data", "from"] { visible[name] = message?[name] }
    return .object(visible)
  }

  // MARK: States, handlers and parked events

  /// Gives a subject a version and states, and perhaps timers, `once` keys and topics, as if events had made them.
  private func give(_ arguments: TestArguments) throws {
    let subject = try arguments.text(0, "a subject")
    guard let version = arguments.value(1)?.intValue, version >= 0 else {
      throw TestFailure("t:given: argument 2 must be the subject's version, a whole number from 0 on")
    }
    let states = try arguments.object(2, "the plugins' states by name") ?? JSONObject()
    let items = try arguments.object(3, "timers, once keys and topics, as export shows them") ?? JSONObject()
    let owners = items.flatMap { $0.value.arrayValue ?? [] }.compactMap { item in
      item["plugin"]?.stringValue
        ?? item.stringValue.flatMap { topic in topic.firstIndex(of: "/").map { String(topic[..<$0]) } }
    }
    // A captured test may have those of plugins that are away.
    for name in states.names + owners where !isCaptured { try requirePlugin(name) }
    try engine.give(subject, version: UInt64(version), states: states, items: items)
  }

  /// The answer of the plugin that answers for a host.
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
      let target = HTTPTarget("/?\(request["query_string"]?.stringValue ?? "")")
      request["query"] = .object(JSONObject(target.parameters.map { (name: $0.name, value: .string($0.value)) }))
    }
    let buffer = ByteBuffer(capacity: 512)
    JSONValue.object(request).write(to: buffer)
    guard let answer = try engine.evaluator.web(host: HostName.normalized(host), request: buffer.bytes) else {
      throw TestFailure("no plugin answers for the host '\(host)'")
    }
    if case .failure(let refusal) = WebAnswer.read(answer) {
      throw TestFailure("the answer of the web handler of '\(host)' can't be sent: \(refusal.reason)")
    }
    return answer[0].map { [$0] } ?? []
  }

  /// The request that a sink handler makes of an effect.
  private func sink(_ arguments: TestArguments) throws -> [JSONValue] {
    guard var effect = try arguments.object(0, "an effect") else { throw TestFailure("t:sink takes an effect") }
    let name = arguments.value(1)?.stringValue ?? effect["sink"]?.stringValue ?? ""
    if engine.evaluator.catalog.anonymousSinks.contains(name) {
      effect["subject"] = nil
      effect["id"] = .string(SHA256.hash(effect["id"]?.stringValue ?? "").hex)
    }
    let buffer = ByteBuffer(capacity: 512)
    JSONValue.object(effect).write(to: buffer)
    let owner = effect["plugin"]?.stringValue ?? plugin
    guard let answer = try engine.evaluator.sink(name, plugin: owner, effect: buffer.bytes) else {
      throw TestFailure("plugin '\(owner)' has no handler for the sink '\(name)'")
    }
    if case .failed(let reason) = HandlerAnswer(answer) {
      throw TestFailure("the handler of the sink '\(name)' fails: \(reason)")
    }
    guard let request = answer[0], !request.isNull else { return [.null, answer[1] ?? .null] }
    return [request]
  }

  /// Lets a plugin fail on the next event of a subject.
  private func letFail(_ arguments: TestArguments) throws {
    engine.fail(try plugin(of: arguments), onNextEventOf: try arguments.text(0, "a subject"))
  }

  private func retry(_ arguments: TestArguments) throws {
    let (subject, plugin) = (try arguments.text(0, "a subject"), try plugin(of: arguments))
    let id = arguments.value(2) == nil ? nil : try arguments.text(2, "the id of an event")
    guard try engine.retry(plugin, of: subject, event: id) > 0 else {
      let what = id.map { "the event '\($0)'" } ?? "nothing"
      throw TestFailure("\(what) is \(id == nil ? "" : "not ")parked of \(subject) for the plugin '\(plugin)'")
    }
  }

  private func plugin(of arguments: TestArguments) throws -> String {
    let name = arguments.value(1) == nil ? plugin : try arguments.text(1, "the name of a plugin")
    try requirePlugin(name)
    return name
  }

  // MARK: Settings

  /// Overrides settings of the plugin, or of a named one, until the test ends.
  private func override(_ arguments: TestArguments) throws {
    let name = try plugin(of: arguments)
    let more = try arguments.object(0, "settings") ?? JSONObject()
    var next = course.settings
    next[name] = next[name]?.overridden(by: more) ?? more
    engine.adopt(try catalog(with: next))
    course.settings = next
  }

  private func requirePlugin(_ name: String) throws {
    let names = base.plugins.map(\.name)
    guard !names.contains(name) else { return }
    throw TestFailure("there is no plugin '\(name)'\(NearestName.hint(name, in: names))")
  }

  private func catalog(with settings: [String: JSONObject]) throws(TestFailure) -> Catalog {
    guard !settings.isEmpty else { return base }
    let text = settings.sorted { $0.key < $1.key }.map { "\($0.key) \(JSONValue.object($0.value).text)" }
      .joined(separator: "\n")
    if let known = catalogs[text] { return known }
    if catalogs.count >= 32 { catalogs.removeAll() }
    let catalog: Catalog
    do throws(ReloadError) {
      catalog = try CatalogBuilder.build(
        base.source, configuration: settings.mapValues { Configuration.Plugin(settings: $0) }, previous: base,
        worker: worker, covering: coverage, now: base.loadedAt)
    } catch {
      throw TestFailure(
        "with these settings the rules do not load: \(error.errors.map(\.description).joined(separator: "; "))")
    }
    let problems = catalog.plugins.filter { settings[$0.name] != nil }.flatMap { $0.manifest.settingProblems }
    guard problems.isEmpty else { throw TestFailure(problems.map(\.message).joined(separator: "; ")) }
    catalogs[text] = catalog
    return catalog
  }

  // MARK: Cases

  private func mark() throws {
    noteFailures()
    marks.append((try engine.moment(), course, failures.unexpected.count))
  }

  /// Returns to the last mark; the result is the text of the failures since then that nobody expected.
  private func restore() throws -> [JSONValue] {
    noteFailures()
    guard let mark = marks.popLast() else { return [] }
    let unexpected = failures.take(from: mark.failures)
    course = mark.course
    try engine.restore(mark.moment, catalog: try catalog(with: course.settings))
    return TestFailures.text(unexpected).map { [.string($0)] } ?? []
  }

  // MARK: Files

  private var files: TestFiles {
    TestFiles(folder: "\(options.root)/\(plugin)/tests", updatesSnapshots: options.updatesSnapshots)
  }

  private func snapshot(_ arguments: TestArguments) throws {
    let name = try arguments.text(0, "the snapshot's name")
    hasCompared = true
    try files.compare(try arguments.value(1) ?? everything(), withSnapshot: name)
  }

  /// The content of the test so far: events with their outcomes, messages, and the states of all subjects.
  private func everything() throws -> JSONValue {
    var states = JSONObject()
    let receivers = engine.sent.compactMap { Self.message($0)["subject"]?.stringValue }
    for subject in Set(course.subjects + receivers).sorted() {
      var plugins = JSONObject()
      for plugin in base.plugins { plugins[plugin.name] = try engine.state(of: subject, plugin: plugin.name) }
      if !plugins.isEmpty { states[subject] = .object(plugins) }
    }
    return ["events": .array(course.events), "sent": .array(engine.sent.map(Self.message)), "states": .object(states)]
  }

  // MARK: Errors

  private static func description(of error: RequestError) -> String {
    let file = error.details["file"]?.stringValue
    let line = error.details["line"]?.intValue
    return text(error.message, file, line)
  }

  private static func text(_ message: String, _ file: String?, _ line: Int64?) -> String {
    guard let file, let line else { return message }
    return "\(message) (at \(file):\(line))"
  }
}

/// The arguments of a call of a method of `t`.
private struct TestArguments {
  let method: String
  let values: [JSONValue]

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
