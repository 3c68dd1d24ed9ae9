import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// Explains an event: writes for each rule that was considered whether it fired, and why.
final class TraceWriter {
  /// The entries, JSON objects with commas between them.
  var bytes: ByteView { trace.bytes }
  private let trace = ByteBuffer(capacity: 256)
  /// The type of the event that rules run on.
  var type = ""
  /// The rule that raised that event; nil for the event that was sent.
  var cause: (plugin: String, rule: String)?
  private var event = EventInput.none
  private let identity = ByteBuffer(capacity: 256)
  /// The state of a plugin that was encoded last, which most rules leave as it is.
  private var lastState: (text: [UInt8], value: JSONValue) = ([], .object([:]))
  /// The rules that ran on this event.
  private var ran: Set<RuleName> = []

  private struct RuleName: Hashable {
    let plugin: String
    let rule: Int
  }

  func begin(_ event: EventInput) {
    self.event = event
    ran.removeAll()
    lastState = ([], .object([:]))
  }

  func removeAll() {
    trace.removeAll()
    guard !type.isEmpty else { return }
    type = ""
    cause = nil
    event = .none
  }

  /// Writes entries for rules of a plugin that listen to the event and do not run.
  func skip(_ rules: ArraySlice<Int>, of plugin: Catalog.Plugin, reason: String) {
    for rule in rules {
      add(entry(plugin, rule, fired: false, reason))
    }
  }

  /// Writes entries for the rules of a plugin, which all listen to other types, with these.
  func list(_ plugin: Catalog.Plugin) {
    for rule in plugin.order {
      let patterns = plugin.manifest.rules[rule].on.map(\.text)
      let others = patterns.map { "'\($0)'" }.joined(separator: ", ")
      var entry = entry(plugin, rule, fired: false, "listens to \(others), not to '\(type)'")
      entry["on"] = Self.list(patterns)
      add(entry)
    }
  }

  /// Writes an entry for a plugin that the configuration disables; it names no rule.
  func skip(disabled plugin: String) {
    add(entry(plugin, nil, fired: false, "the configuration disables the plugin"))
  }

  /// Writes an entry for a state that was brought to the version that its plugin declares; it names no rule.
  func note(_ state: PluginState, migratedTo migrated: ByteView, of plugin: Catalog.Plugin) {
    let version = plugin.stateVersion
    var entry = entry(plugin.name, nil, fired: true, "the state went from version \(state.version) to \(version)")
    entry["migration"] = ["from": .integer(Int64(state.version)), "to": .integer(Int64(version))]
    let before = (try? JSONValue(parsing: state.json)) ?? .object([:])
    let after = (try? JSONValue(parsing: migrated)) ?? .object([:])
    entry["writes"] = changes(from: before, to: after, of: plugin)
    add(entry)
  }

  func runTraced(_ rule: Int, of plugin: Catalog.Plugin, on vm: PluginVM) -> CallResult {
    guard vm.beginExplanation(of: rule, stateBytes: lastState.text.count) else {
      return runUnexplained(rule, of: plugin, on: vm)
    }
    defer { vm.endExplanation() }
    let before = state(of: vm)
    let first = vm.operations.count
    let recorded = vm.recordedCount
    let isFirstRun = ran.insert(RuleName(plugin: plugin.name, rule: rule)).inserted
    let started = EngineClock.monotonic
    let result = vm.explain(rule: rule)
    let microseconds = Int64((EngineClock.monotonic - started) / 1000)
    guard result != .failed else {
      add(entry(plugin, rule, fired: true, "failed: \(vm.failure(rule: nil).message)"), microseconds: microseconds)
      return result
    }
    var entry = entry(plugin, rule, fired: result == .done, result == .done ? "its event came" : "'when' was false")
    // A rule's earlier reads are not recorded again.
    addReads(of: rule, of: plugin, in: vm.operations[(isFirstRun ? first : 0)...], state: before, to: &entry)
    if result == .skipped { entry["condition"] = vm.falseCondition(of: rule, from: first).map(json) }
    if result == .done, vm.encodeState(limit: 0) != .failed {
      entry["writes"] = changes(from: before, to: encodedState(of: vm), of: plugin)
      addOperations(vm.operations[first...], of: plugin, to: &entry)
      entry["follows"] = consequences(vm.operations[first...], after: recorded, of: plugin)
    }
    add(entry, microseconds: microseconds)
    return result
  }

  /// Runs a rule for which the explanation has no room any more.
  private func runUnexplained(_ rule: Int, of plugin: Catalog.Plugin, on vm: PluginVM) -> CallResult {
    let result = vm.runRule(rule)
    let reason =
      switch result {
      case .done: "its event came"
      case .skipped: "'when' was false"
      case .failed: "failed: \(vm.failure(rule: nil).message)"
      }
    add(
      entry(plugin, rule, fired: result != .skipped, reason + "; more is not told, as the explanation is too long"))
    return result
  }

  private func state(of vm: PluginVM) -> JSONValue {
    _ = vm.encodeState(limit: 0)
    return encodedState(of: vm)
  }

  /// The state that a VM has just encoded.
  private func encodedState(of vm: PluginVM) -> JSONValue {
    if !vm.output.elementsEqual(lastState.text) {
      lastState = (Array(vm.output), (try? JSONValue(parsing: vm.output)) ?? .object([:]))
    }
    return lastState.value
  }

  // MARK: Entries

  private func entry(_ plugin: Catalog.Plugin, _ rule: Int, fired: Bool, _ reason: String) -> JSONObject {
    entry(plugin.name, plugin.manifest.rules[rule].name, fired: fired, reason)
  }

  private func entry(_ plugin: String, _ rule: String?, fired: Bool, _ reason: String) -> JSONObject {
    var entry: JSONObject = ["event": .string(type)]
    entry["cause"] = cause.map { ["plugin": .string($0.plugin), "rule": .string($0.rule)] }
    entry["plugin"] = .string(plugin)
    entry["rule"] = rule.map(JSONValue.string) ?? .null
    entry["fired"] = .bool(fired)
    entry["reason"] = .string(reason)
    return entry
  }

  /// Writes an entry, with empty lists if the rule did nothing.
  private func add(_ entry: JSONObject, microseconds: Int64 = 0) {
    var entry = entry
    for name in ["writes", "decisions", "effects"] where entry[name] == nil { entry[name] = [] }
    entry["micros"] = .integer(microseconds)
    var json = JSONWriter(continuing: trace)
    json.value(.object(entry))
  }

  private static func list(_ items: [String]) -> JSONValue { .array(items.map { .string($0) }) }

  /// Adds which parts of the state a rule read, and the values that they had before it.
  private func addReads(
    of rule: Int, of plugin: Catalog.Plugin, in operations: Slice<Operations>, state: JSONValue,
    to entry: inout JSONObject
  ) {
    let reads = operations.indices.compactMap { index -> String? in
      guard operations.base.rule(at: index) == rule, case .read(let path) = operations[index] else { return nil }
      return path.text
    }
    guard !reads.isEmpty else { return }
    entry["reads"] = Self.list(reads.map { path($0, of: plugin) })
    entry["values"] = values(reads.compactMap { path in Self.value(at: path, in: state).map { (path, $0) } })
  }

  /// The part of a rule's `when` that was false.
  private func json(_ condition: FalseCondition) -> JSONValue {
    .members([
      "text": .string(condition.text), "file": .string(condition.file), "line": .integer(Int64(condition.line)),
      "values": values(condition.values),
    ])
  }

  /// Values by name; nil if the explanation leaves values out.
  private func values(_ values: [(String, JSONValue)]) -> JSONValue? {
    event.explainsValues ? .object(JSONObject(values.map { (name: $0.0, value: $0.1) })) : nil
  }

  /// The value of a path such as `state.a.b[1]`, null for none; nil for a table, whose members are read in turn.
  private static func value(at path: String, in state: JSONValue) -> JSONValue? {
    var value = state
    for step in path.split(whereSeparator: { $0 == "." || $0 == "[" || $0 == "]" }).dropFirst() {
      let next = value[String(step)] ?? Int(step).flatMap { value[$0 - 1] }
      guard let next else { return .null }
      value = next
    }
    switch value {
    case .array, .object: return nil
    default: return value
    }
  }

  /// Adds a rule's operations, and its decisions that another rule had made already.
  private func addOperations(_ operations: Slice<Operations>, of plugin: Catalog.Plugin, to entry: inout JSONObject) {
    var shadowed: [JSONValue] = []
    let names = [
      "decisions", "effects", "raised", "sends", "timers", "counts", "once", "places", "publishes", "topics", "forgets",
    ]
    var items: [String: [String]] = ["decisions": [], "effects": []]
    func add(_ name: String, _ item: String) { items[name, default: []].append(item) }
    for operation in operations {
      switch operation {
      case .decide(let name, _): add("decisions", name.text)
      case .emit(let effect): add("effects", effect.id.text)
      case .raise(let type, _, _, _): add("raised", word(type.text, of: plugin))
      case .shadowed(let name, let rule):
        shadowed.append(["key": .string(name.text), "by": .string(plugin.manifest.rules[rule].name)])
      case .send(let subject, let type, _): add("sends", "\(word(type.text, of: plugin)) to \(value(subject))")
      case .setTimer(let name, let type, _, let due, let schedule):
        let repeats = schedule.isEmpty ? "" : ", and then each time of \(value(schedule))"
        let time = value(Timestamp(seconds: due).rfc3339)
        add("timers", "\(value(name)): \(word(type.text, of: plugin)) at \(time)\(repeats)")
      case .cancelTimer(let name): add("timers", "\(value(name)): cancelled")
      case .count(let name, let labels, _, _): add("counts", "\(word(name.text, of: plugin)) \(value(labels))")
      case .once(let key, _): add("once", value(key))
      case .place(let board, let placing, _):
        add("places", "\(value(board)): \(value(Self.text(placing)))")
      case .publish(let topic, let type, _, let except):
        let left = except.isEmpty ? "" : " except \(value(except))"
        add("publishes", "\(word(type.text, of: plugin)) to \(value(topic))\(left)")
      case .joinTopic(let name): add("topics", "joins \(value(name))")
      case .leaveTopic(let name): add("topics", "leaves \(value(name))")
      case .forget(let all): add("forgets", all ? "the subject" : "the plugin's state of the subject")
      case .forgetPast: add("forgets", "the subject's past")
      default: break
      }
    }
    for name in names { entry[name] = items[name].map(Self.list) }
    if !shadowed.isEmpty { entry["shadowed"] = .array(shadowed) }
  }

  /// The events that follow: messages and timers, with the ids that they will have; nil for none.
  ///
  /// `recorded` of the operations before these are for explanations alone.
  private func consequences(
    _ operations: Slice<Operations>, after recorded: Int, of plugin: Catalog.Plugin
  ) -> JSONValue? {
    var recorded = recorded
    var found: [JSONValue] = []
    for index in operations.indices {
      switch operations[index] {
      case .read, .part: recorded += 1
      case .send(let subject, let type, _):
        let id = ConsequenceID.message(number: index - recorded, of: plugin.nameBytes, event, using: identity)
        found.append([
          "kind": "message", "id": .string(id.text), "type": .string(word(type.text, of: plugin)),
          "subject": .string(value(subject)),
        ])
      case .setTimer(let name, let type, _, let seconds, _):
        let due = ConsequenceID.due(seconds)
        let id = ConsequenceID.timer(name, due: due, of: plugin.nameBytes, event, using: identity)
        found.append([
          "kind": "timer", "id": .string(id.text), "type": .string(word(type.text, of: plugin)),
          "subject": .string(event.subject.text), "due": .string(value(Timestamp(microseconds: due).rfc3339)),
        ])
      default: break
      }
    }
    return found.isEmpty ? nil : .array(found)
  }

  /// A text that a rule may have made of the state, or what stands for it where the client may not read states.
  private func value(_ text: String) -> String { event.explainsTexts ? text : "…" }
  private func value(_ bytes: Operation.Bytes) -> String { value(bytes.text) }

  /// A name or a type that a rule used; where texts are left out, only one that its plugin's files have.
  func word(_ text: String, of plugin: Catalog.Plugin) -> String {
    event.explainsTexts || plugin.source.has(word: text) ? text : "…"
  }

  /// A path such as `state.a.b[1]`, with the names that may be shown.
  private func path(_ text: String, of plugin: Catalog.Plugin) -> String {
    guard !event.explainsTexts else { return text }
    var path = "state"
    var rest = text.dropFirst(path.count)
    while !rest.isEmpty {
      let name = rest.prefix { !".[]".contains($0) }
      if !name.isEmpty { path += word(String(name), of: plugin) }
      rest = rest.dropFirst(name.count)
      path += rest.prefix(1)
      rest = rest.dropFirst()
    }
    return path
  }

  private static func text(_ placing: Operation.Placing) -> String {
    switch placing {
    case .set(let score): Place.json(score).text
    case .add(let number): (number < 0 ? "" : "+") + Place.json(number).text
    case .leave: "left"
    }
  }

  /// The paths at which two states differ, down to the members that changed.
  private func changes(from old: JSONValue, to new: JSONValue, of plugin: Catalog.Plugin) -> JSONValue {
    Self.list(JSONDifference.between(old, new, byName: true, at: "state").map { path($0.path, of: plugin) })
  }
}
