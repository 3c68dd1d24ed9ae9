import RuledCore

/// Builds a plugin's manifest from its declarations, and refuses wrong ones with a message.
struct ManifestBuilder {
  /// What was declared so far.
  private(set) var manifest = PluginManifest()
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

  init(folder: String, overrides: JSONObject, takesTests: Bool, notes: LoadNotes? = nil) {
    self.folder = folder
    self.overrides = overrides
    self.takesTests = takesTests
    self.notes = notes
  }

  /// Why a declaration is refused.
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
    manifest.settings = try settings(object["settings"])
    manifest.name = name
    return manifest.settings
  }

  /// Takes `rule "name" {…}`.
  mutating func rule(_ name: String, _ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try declared("rule", name)
    if let earlier = manifest.rules.first(where: { $0.name == name }) {
      throw Refusal("rule '\(name)' is declared twice, first at \(earlier.file):\(earlier.line)")
    }
    guard let object = json.objectValue else { throw Refusal("rule '\(name)' takes a table of named values") }
    try check(object.names, known: Self.ruleKeys, of: "rule '\(name)'")
    let names: [String]
    switch object["on"] {
    case .string(let one): names = [one]
    case .object(let none) where none.isEmpty: names = []
    case .array(let several) where several.allSatisfy({ $0.stringValue != nil }):
      names = several.compactMap(\.stringValue)
    default: throw Refusal("rule '\(name)': 'on' must be an event type or a list of event types")
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
    var priority = 0
    if let value = object["priority"] {
      guard let number = value.intValue, let small = Int32(exactly: number) else {
        throw Refusal("rule '\(name)': 'priority' must be a whole number")
      }
      priority = Int(small)
    }
    manifest.rules.append(.init(name: name, on: patterns, priority: priority, file: file, line: line))
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
    try declared("event", type)
    if let earlier = manifest.events.first(where: { $0.type == type }) {
      throw Refusal("event '\(type)' is declared twice, first at \(earlier.file):\(earlier.line)")
    }
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
      guard DataType(named: Substring(UnicodeText.trim(String(type)))) == nil else { return (table, false) }
      throw Refusal(
        "\(what).from is neither \"rules\", which keeps the event for rules, nor the type of a member of its data: '\(from)'"
      )
    }
    members["from"] = nil
    return (.object(members), true)
  }

  /// Takes `state {…}`: the version of the shape, its members, and whether it has these alone.
  mutating func state(_ json: JSONValue, file: String, line: Int) throws(Refusal) {
    try declared("state", "state")
    if let earlier = manifest.state {
      throw Refusal("state is declared twice, first at \(earlier.file):\(earlier.line)")
    }
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
    try declared("migrate", "migrate")
    guard manifest.stepsDeclared == nil else { throw Refusal("migrate is declared twice") }
    manifest.stepsDeclared = (file, line)
    for step in json.arrayValue ?? [] {
      guard let version = step[0]?.intValue else { continue }
      manifest.steps[Int(version)] = .init(hasUp: step[1]?.boolValue ?? false, hasDown: step[2]?.boolValue ?? false)
    }
  }

  private func schema(_ table: JSONValue?, of what: String) throws(Refusal) -> DataSchema {
    do throws(SchemaError) { return try DataSchema(table, of: what) } catch { throw Refusal(error.message) }
  }

  /// Takes a query, a handler or a test.
  mutating func handler(
    _ kind: WritableKeyPath<PluginManifest, [PluginManifest.Handler]>, _ what: String, _ name: String, file: String,
    line: Int
  ) throws(Refusal) {
    try declared(what, name)
    let isHost = kind == \.hosts
    if let earlier = manifest[keyPath: kind].first(where: {
      isHost ? $0.name.lowercased() == name.lowercased() : $0.name == name
    }) {
      throw Refusal("\(what) '\(name)' is declared twice, first at \(earlier.file):\(earlier.line)")
    }
    manifest[keyPath: kind].append(.init(name: name, file: file, line: line))
  }

  /// Takes `sink "name" (function)` or `sink "name" {…}`, which may have no function.
  mutating func sink(
    _ name: String, _ json: JSONValue, hasHandler: Bool, file: String, line: Int
  ) throws(Refusal) {
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

  private func declared(_ what: String, _ name: String) throws(Refusal) {
    guard !manifest.name.isEmpty else { throw Refusal("declare the plugin before its first \(what)") }
    guard !name.isEmpty else { throw Refusal("the name of a \(what) is empty") }
  }

  private func check(
    _ names: [String], known: [String], of what: String, called: String = "key"
  ) throws(Refusal) {
    for name in names where !known.contains(name) {
      let all = "it knows \(known.joined(separator: ", "))"
      let message = "\(what) has no \(called) '\(name)'" + NearestName.hint(name, in: known, otherwise: all)
      guard let notes else { throw Refusal(message) }
      notes.note(key: name, message)
    }
  }

  private func text(_ object: JSONObject, _ key: String, of what: String = "plugin") throws(Refusal) -> String? {
    guard let value = object[key] else { return nil }
    guard let text = value.stringValue else { throw Refusal("\(what).\(key) must be a string") }
    return text
  }

  private func flag(_ object: JSONObject, _ key: String, of what: String) throws(Refusal) -> Bool? {
    guard let value = object[key] else { return nil }
    guard let flag = value.boolValue else { throw Refusal("\(what).\(key) must be true or false") }
    return flag
  }

  private func texts(_ object: JSONObject, _ key: String) throws(Refusal) -> [String] {
    guard let value = object[key] else { return [] }
    if let object = value.objectValue, object.isEmpty { return [] }
    guard let list = value.arrayValue, list.allSatisfy({ $0.stringValue != nil }) else {
      throw Refusal("plugin.\(key) must be a list of strings")
    }
    return list.compactMap(\.stringValue)
  }

  private func budget(_ value: JSONValue?) throws(Refusal) -> Budget {
    guard let value else { return Budget() }
    guard let object = value.objectValue else { throw Refusal("plugin.budget must be a table of named values") }
    try check(object.names, known: Self.budgetKeys, of: "plugin.budget")
    var budget = Budget()
    if let instructions = object["instructions"] {
      guard let number = instructions.intValue, (1...1_000_000_000).contains(number) else {
        throw Refusal("plugin.budget.instructions must be a whole number from 1 to 1000000000")
      }
      budget.instructions = Int(number)
    }
    if let memory = object["memory_mib"] {
      guard let number = memory.intValue, (1...64).contains(number) else {
        throw Refusal("plugin.budget.memory_mib must be a whole number from 1 to 64")
      }
      budget.memoryBytes = Int(number) << 20
    }
    return budget
  }

  private mutating func settings(_ value: JSONValue?) throws(Refusal) -> JSONObject {
    var merged = JSONObject()
    if let value {
      guard let object = value.objectValue else { throw Refusal("plugin.settings must be a table of named values") }
      merged = object
    }
    for (name, value) in overrides {
      if let own = merged[name] {
        if own.settingKind != value.settingKind, !own.isEmptyTable, !value.isEmptyTable, !own.isUnset(for: value) {
          manifest.settingsOfOtherKind.append((name, own.settingKind))
        }
      } else {
        manifest.unknownSettings.append(name)
      }
      merged[name] = value
    }
    return merged
  }
}

extension JSONValue {
  /// The kind of a setting, with its article; whole and other numbers are of one kind.
  fileprivate var settingKind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "a table of named values"
    }
  }

  /// Whether it is an empty string, which the configuration may replace with an id that is written as a number.
  fileprivate func isUnset(for value: JSONValue) -> Bool { stringValue == "" && value.doubleValue != nil }

  /// Whether it is Lua's empty table, which is an array as well as a table of named values.
  fileprivate var isEmptyTable: Bool { arrayValue?.isEmpty == true || objectValue?.isEmpty == true }
}
