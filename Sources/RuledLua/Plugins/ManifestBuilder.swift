import RuledCore

/// Builds a plugin's manifest from its declarations, and refuses wrong ones with a message.
struct ManifestBuilder {
  private(set) var manifest = PluginManifest()
  /// Where each name is declared, by what it names.
  private var places: [String: (file: String, line: Int)] = [:]
  private let folder: String
  private let overrides: JSONObject
  private let takesTests: Bool
  /// Collects errors so that loading continues; nil for a loading that ends with the first.
  private let notes: LoadNotes?

  private static let pluginKeys = ["name", "version", "about", "settings", "sinks", "sources", "budget"]
  private static let queryKeys = ["about", "args", "run"]
  private static let sinkKeys = ["anonymous", "run"]
  private static let eventKeys = ["about", "checked", "closed"]
  private static let ruleKeys = ["on", "priority", "when", "run"]
  private static let budgetKeys = ["instructions", "memory_mib"]
  private static let settingKeys = ["type", "min", "max", "one_of", "sorted_by", "names", "check", "about"]

  init(folder: String, overrides: JSONObject, takesTests: Bool, notes: LoadNotes? = nil) {
    self.folder = folder
    self.overrides = overrides
    self.takesTests = takesTests
    self.notes = notes
  }

  struct Refusal: Error {
    var message: String
    init(_ message: String) { self.message = message }
  }

  /// Takes `plugin {…}` and returns the settings in force.
  mutating func plugin(_ json: JSONValue) throws(Refusal) -> JSONObject {
    guard manifest.name.isEmpty else { throw Refusal("plugin is declared twice") }
    guard let object = json.objectValue else { throw Refusal("plugin takes a table of named values") }
    try check(object.names, known: Self.pluginKeys, of: "plugin")
    guard let name = try text(object, "name"), !name.isEmpty else {
      throw Refusal("plugin has no name; write name = \"\(folder)\"")
    }
    guard name == folder else {
      throw Refusal("plugin.name is '\(name)', but the folder is called '\(folder)'; they must be equal")
    }
    manifest.version = try text(object, "version") ?? ""
    manifest.about = try text(object, "about") ?? ""
    manifest.sinks = try texts(object, "sinks")
    manifest.sources = try texts(object, "sources").map { GlobPattern($0) }
    manifest.budget = try budget(object["budget"])
    if let settings = object["settings"], !settings.isEmptyTable {
      guard let table = settings.objectValue else { throw Refusal("plugin.settings must be a table of named values") }
      manifest.ownSettings = table
    }
    manifest.overrides = overrides
    manifest.settings = manifest.ownSettings.overridden(by: overrides)
    manifest.name = name
    return manifest.settings
  }

  /// Takes a module that is found.
  mutating func require(_ path: String) { manifest.required.insert(path) }

  mutating func rule(_ name: String, _ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try declare("rule", name, file, line)
    guard let object = json.objectValue else { throw Refusal("rule '\(name)' takes a table of named values") }
    try check(object.names, known: Self.ruleKeys, of: "rule '\(name)'")
    guard let names = object["on"].flatMap({ on in on.stringValue.map { [$0] } ?? Self.texts(on) }) else {
      throw Refusal("rule '\(name)': 'on' must be an event type or a list of event types")
    }
    guard !names.isEmpty else { throw Refusal("rule '\(name)': 'on' is empty, so that no event can reach it") }
    var patterns: [EventPattern] = []
    for text in names {
      guard let pattern = EventPattern(text) else {
        let message = "rule '\(name)': '\(text)' is neither an event type, a prefix that ends in .*, nor *"
        guard let notes else { throw Refusal(message) }
        notes.note(key: nil, message)
        continue
      }
      patterns.append(pattern)
    }
    let priority = try read(object, "priority", "rule '\(name)': 'priority' must be a whole number") { value in
      value.intValue.flatMap { Int32(exactly: $0) }
    }
    manifest.rules.append(.init(name: name, on: patterns, priority: Int(priority ?? 0), file: file, line: line))
  }

  /// Takes `query "name" (function)` or `query "name" {…}`, whose arguments may be declared.
  mutating func query(_ name: String, _ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try handler(\.queries, "query", name, file: file, line: line)
    guard let object = json.objectValue, !object.isEmpty else { return }
    try check(object.names, known: Self.queryKeys, of: "query '\(name)'")
    let last = manifest.queries.count - 1
    manifest.queries[last].about = try text(object, "about", of: "query '\(name)'") ?? ""
    if let args = object["args"] {
      manifest.queries[last].arguments = try schema(args, of: "query '\(name)': args")
    }
  }

  /// Takes `event "type" {…}`: the members of its data, and options.
  mutating func event(_ type: String, _ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try declare("event", type, file, line)
    guard let pattern = EventPattern(type), pattern.isExact else {
      throw Refusal("event '\(type)': the name must be one event type, without *")
    }
    let what = "event '\(type)'"
    let options = json[1]?.objectValue ?? JSONObject()
    try check(options.names, known: Self.eventKeys, of: what, called: "option")
    let (members, isInternal) = try Self.origin(json[0], of: what)
    manifest.events.append(
      EventDeclaration(
        type: type, about: try text(options, "about", of: what) ?? "", data: try schema(members, of: what),
        isChecked: try flag(options, "checked", of: what) ?? true,
        isClosed: try flag(options, "closed", of: what) ?? false, isInternal: isInternal, file: file, line: line))
  }

  /// An event's members without `from = "rules"`, and whether that is among them; another type of that name is a member like the others.
  private static func origin(
    _ table: JSONValue?, of what: String
  ) throws(Refusal) -> (members: JSONValue?, isInternal: Bool) {
    guard var members = table?.objectValue, let from = members["from"]?.stringValue else { return (table, false) }
    guard from == "rules" else {
      let type = from.prefix { $0 != ":" && $0 != "?" }
      guard DataType(named: type.trimmed) == nil else { return (table, false) }
      throw Refusal(
        "\(what).from is neither \"rules\", which keeps the event for rules, nor the type of a member of its data: '\(from)'"
      )
    }
    members["from"] = nil
    return (.object(members), true)
  }

  /// Takes `state {…}`: the version of the shape, its members, and whether it has these alone.
  mutating func state(_ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try declare("state", nil, file, line)
    guard var members = json.objectValue else {
      throw Refusal("state takes a table of named members and their types, with version = 1")
    }
    guard let version = members["version"]?.intValue, (1...StateShape.mostVersions).contains(Int(version)) else {
      throw Refusal("state: 'version' must be a whole number from 1 on: that of this shape")
    }
    members["version"] = nil
    let isClosed = members["closed"]?.boolValue
    if isClosed != nil { members["closed"] = nil }
    let schema = members.isEmpty ? try schema([], of: "state") : try schema(.object(members), of: "state")
    manifest.state = StateShape(
      version: Int(version), members: schema, isClosed: isClosed ?? false, file: file, line: line)
  }

  /// Takes `migrate {…}`, as a list of versions, each with whether its step has an `up` and a `down`.
  mutating func migrate(_ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try declare("migrate", nil, file, line)
    manifest.stepsDeclared = (file, line)
    for step in json.arrayValue ?? [] {
      guard let version = step[0]?.intValue else { continue }
      manifest.steps[Int(version)] = .init(hasUp: step[1]?.boolValue ?? false, hasDown: step[2]?.boolValue ?? false)
    }
  }

  private func schema(_ table: JSONValue?, of what: String) throws(Refusal) -> DataSchema {
    do throws(SchemaError) { return try DataSchema(table, of: what) } catch { throw Refusal(error.message) }
  }

  /// Takes `setting "path" {…}`; `check` is the index of its check.
  mutating func setting(_ path: String, _ json: JSONValue, check index: Int, file: String, line: Int) throws(Refusal) {
    try declare("setting", path, file, line)
    let what = "setting '\(path)'"
    let keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !keys.contains("") else {
      throw Refusal("\(what): a path is keys between dots, such as \"freezes.every_days\"")
    }
    guard let object = json.objectValue, let written = object["type"] else {
      throw Refusal("\(what) takes a table with its type, such as { type = \"integer\", min = 1 }")
    }
    try check(object.names, known: Self.settingKeys, of: what)
    let isOptional = written.stringValue?.hasSuffix("?") == true
    let type: SettingType
    do throws(SchemaError) {
      let name = isOptional ? written.stringValue.map { JSONValue.string(String($0.dropLast())) } : nil
      type = try SettingType(name ?? written, at: what)
    } catch { throw Refusal(error.message) }
    let order = try sorting(object, of: what)
    manifest.declaredSettings.append(
      SettingDeclaration(
        keys: keys, type: type, isOptional: isOptional, least: try number(object, "min", of: what),
        greatest: try number(object, "max", of: what), choices: try choices(object, of: what), order: order,
        names: try names(object, of: keys, what), about: try text(object, "about", of: what) ?? "",
        check: object["check"] == nil ? nil : index, file: file, line: line))
  }

  private func sorting(_ object: JSONObject, of what: String) throws(Refusal) -> SettingDeclaration.Order? {
    let problem = "\(what): 'sorted_by' must be a member, or a list of them"
    guard let written = try read(object, "sorted_by", problem, { $0.stringValue.map { [$0] } ?? Self.texts($0) }),
      let first = written.first
    else { return nil }
    let isDescending = first.hasPrefix("-")
    let members = [isDescending ? String(first.dropFirst()) : first] + written.dropFirst()
    return SettingDeclaration.Order(members: members.map { $0 == "*" ? nil : $0 }, isDescending: isDescending)
  }

  private func number(_ object: JSONObject, _ key: String, of what: String) throws(Refusal) -> Double? {
    try read(object, key, "\(what): '\(key)' must be a number", \.doubleValue)
  }

  private func choices(_ object: JSONObject, of what: String) throws(Refusal) -> [JSONValue] {
    try read(object, "one_of", "\(what): 'one_of' must be a list of values") { value in
      value.arrayValue.flatMap { $0.isEmpty ? nil : $0 }
    } ?? []
  }

  private func names(_ object: JSONObject, of keys: [String], _ what: String) throws(Refusal) -> [String]? {
    try read(
      object, "names", "\(what): 'names' must be a list of the keys for which a '*' at the end of the path stands"
    ) { keys.last == "*" ? Self.texts($0) : nil }
  }

  /// Takes the configured sources instead of the plugin's own, and the problems of its settings.
  mutating func configure(sources: [String]?, problems: [ConfigurationProblem]) {
    if let sources { manifest.sources = sources.map { GlobPattern($0) } }
    manifest.settingProblems = problems
  }

  /// Takes a query, a handler or a test.
  mutating func handler(
    _ kind: WritableKeyPath<PluginManifest, [PluginManifest.Handler]>, _ what: String, _ name: String, file: String,
    line: Int
  ) throws(Refusal) {
    try declare(what, name, file, line)
    manifest[keyPath: kind].append(.init(name: name, file: file, line: line))
  }

  mutating func web(_ host: String, file: String, line: Int) throws(Refusal) {
    let name = HostName.normalized(host)
    guard name.utf8.allSatisfy({ $0.isLetter || $0.isDigit || "-._[:]".utf8.contains($0) }) else {
      throw Refusal("web handler '\(host)': a host is a name alone, such as \"shop.example.org\"")
    }
    try handler(\.hosts, "web handler", name, file: file, line: line)
  }

  /// Takes `sink "name" (function)` or `sink "name" {…}`, which may have no function.
  mutating func sink(_ name: String, _ json: JSONValue, hasHandler: Bool, file: String, line: Int) throws(Refusal) {
    let what = "sink '\(name)'"
    guard let object = json.objectValue else { throw Refusal("\(what) takes a function or a table of named values") }
    try check(object.names, known: Self.sinkKeys, of: what)
    let isAnonymous = try flag(object, "anonymous", of: what)
    guard hasHandler || isAnonymous != nil else { throw Refusal("\(what) has neither 'run' nor 'anonymous'") }
    if isAnonymous == true { try handler(\.anonymousSinks, "sink", name, file: file, line: line) }
    if hasHandler { try handler(\.sinkHandlers, "sink handler", name, file: file, line: line) }
  }

  /// Takes `test "name"`, which only test files may declare.
  mutating func test(_ name: String, file: String, line: Int) throws(Refusal) {
    guard takesTests else { throw Refusal("tests belong into the plugin's tests folder") }
    try handler(\.tests, "test", name, file: file, line: line)
  }

  private mutating func declare(
    _ what: String, _ name: String?, _ file: String, _ line: Int
  ) throws(Refusal) {
    guard !manifest.name.isEmpty else {
      throw Refusal("declare the plugin before its first \(what): plugin { … } stands above each require in plugin.lua")
    }
    guard name != "" else { throw Refusal("the name of a \(what) is empty") }
    let known = "\(what) \(name ?? "")"
    if let earlier = places[known] {
      let title = name.map { "\(what) '\($0)'" } ?? what
      throw Refusal("\(title) is declared twice, first at \(earlier.file):\(earlier.line)")
    }
    places[known] = (file, line)
  }

  private func check(_ names: [String], known: [String], of what: String, called: String = "key") throws(Refusal) {
    for name in names where !known.contains(name) {
      let all = "it knows \(known.joined(separator: ", "))"
      let message = "\(what) has no \(called) '\(name)'" + NearestName.hint(name, in: known, otherwise: all)
      guard let notes else { throw Refusal(message) }
      notes.note(key: name, message)
    }
  }

  private func text(_ object: JSONObject, _ key: String, of what: String = "plugin") throws(Refusal) -> String? {
    try read(object, key, "\(what).\(key) must be a string", \.stringValue)
  }

  private func flag(_ object: JSONObject, _ key: String, of what: String) throws(Refusal) -> Bool? {
    try read(object, key, "\(what).\(key) must be true or false", \.boolValue)
  }

  private func texts(_ object: JSONObject, _ key: String) throws(Refusal) -> [String] {
    try read(object, key, "plugin.\(key) must be a list of strings", Self.texts) ?? []
  }

  /// The elements of a list of texts, which may be empty; nil for another value.
  private static func texts(_ value: JSONValue) -> [String]? {
    let list = value.isEmptyTable ? [] : value.arrayValue
    return list.flatMap { $0.allSatisfy { $0.stringValue != nil } ? $0.compactMap(\.stringValue) : nil }
  }

  private func budget(_ value: JSONValue?) throws(Refusal) -> Budget {
    guard let value else { return Budget() }
    guard let object = value.objectValue else { throw Refusal("plugin.budget must be a table of named values") }
    try check(object.names, known: Self.budgetKeys, of: "plugin.budget")
    var budget = Budget()
    if let number = try whole(object, "instructions", upTo: 1_000_000_000) { budget.instructions = number }
    if let number = try whole(object, "memory_mib", upTo: 64) { budget.memoryBytes = number << 20 }
    return budget
  }

  private func whole(_ object: JSONObject, _ key: String, upTo most: Int64) throws(Refusal) -> Int? {
    try read(object, key, "plugin.budget.\(key) must be a whole number from 1 to \(most)") { value in
      value.intValue.flatMap { (1...most).contains($0) ? Int($0) : nil }
    }
  }

  /// The value of a key as `convert` makes it; nil if there is none.
  private func read<Value>(
    _ object: JSONObject, _ key: String, _ problem: @autoclosure () -> String, _ convert: (JSONValue) -> Value?
  ) throws(Refusal) -> Value? {
    guard let value = object[key] else { return nil }
    guard let converted = convert(value) else { throw Refusal(problem()) }
    return converted
  }
}
