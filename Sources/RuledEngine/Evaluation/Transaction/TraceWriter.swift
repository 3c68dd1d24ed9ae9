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
      var json = beginEntry(plugin, rule, fired: false, reason)
      endEmptyEntry(&json, microseconds: 0)
    }
  }

  /// Writes entries for the rules of a plugin, which all listen to other types, with these.
  func list(_ plugin: Catalog.Plugin) {
    for rule in plugin.order {
      let patterns = plugin.manifest.rules[rule].on.map(\.text)
      let others = patterns.map { "'\($0)'" }.joined(separator: ", ")
      var json = beginEntry(plugin, rule, fired: false, "listens to \(others), not to '\(type)'")
      writeList("on", patterns, to: &json)
      endEmptyEntry(&json, microseconds: 0)
    }
  }

  /// Writes an entry for a plugin that the configuration disables; it names no rule.
  func skip(disabled plugin: String) {
    var json = beginEntry(plugin, nil, fired: false, "the configuration disables the plugin")
    endEmptyEntry(&json, microseconds: 0)
  }

  /// Writes an entry for a state that was brought to the version that its plugin declares; it names no rule.
  func note(_ state: PluginState, migratedTo migrated: ByteView, of plugin: Catalog.Plugin) {
    let version = plugin.stateVersion
    var json = beginEntry(plugin.name, nil, fired: true, "the state went from version \(state.version) to \(version)")
    json.member("migration")
    json.beginObject()
    json.member("from", Int64(state.version))
    json.member("to", Int64(version))
    json.endObject()
    let before = (try? JSONValue(parsing: state.json)) ?? .object([:])
    let after = (try? JSONValue(parsing: migrated)) ?? .object([:])
    writeList("writes", Self.changes(from: before, to: after), to: &json)
    for name in ["decisions", "effects"] as [StaticString] { writeList(name, [], to: &json) }
    endEntry(&json, microseconds: 0)
  }

  func run(_ rule: Int, of plugin: Catalog.Plugin, on vm: PluginVM) -> CallResult {
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
      var json = beginEntry(plugin, rule, fired: true, "failed: \(vm.failure(rule: nil).message)")
      endEmptyEntry(&json, microseconds: microseconds)
      return result
    }
    var json = beginEntry(plugin, rule, fired: result == .done, result == .done ? "its event came" : "'when' was false")
    // A rule's earlier reads are not recorded again.
    writeReads(of: rule, in: vm.operations[(isFirstRun ? first : 0)...], state: before, to: &json)
    if result == .skipped, let condition = vm.falseCondition(of: rule, from: first) { write(condition, to: &json) }
    guard result == .done, vm.encodeState(limit: 0) != .failed else {
      endEmptyEntry(&json, microseconds: microseconds)
      return result
    }
    writeList("writes", Self.changes(from: before, to: encodedState(of: vm)), to: &json)
    writeOperations(vm.operations[first...], of: plugin, to: &json)
    writeConsequences(vm.operations[first...], after: recorded, of: plugin, to: &json)
    endEntry(&json, microseconds: microseconds)
    return result
  }

  /// Runs a rule for which the explanation has no room any more.
  private func runUnexplained(_ rule: Int, of plugin: Catalog.Plugin, on vm: PluginVM) -> CallResult {
    let result = vm.run(rule: rule)
    let reason =
      switch result {
      case .done: "its event came"
      case .skipped: "'when' was false"
      case .failed: "failed: \(vm.failure(rule: nil).message)"
      }
    var json = beginEntry(
      plugin, rule, fired: result != .skipped, reason + "; more is not told, as the explanation is too long")
    endEmptyEntry(&json, microseconds: 0)
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

  private func beginEntry(_ plugin: Catalog.Plugin, _ rule: Int, fired: Bool, _ reason: String) -> JSONWriter {
    beginEntry(plugin.name, plugin.manifest.rules[rule].name, fired: fired, reason)
  }

  private func beginEntry(_ plugin: String, _ rule: String?, fired: Bool, _ reason: String) -> JSONWriter {
    var json = JSONWriter(continuing: trace)
    json.beginObject()
    json.member("event", type)
    if let cause {
      json.member("cause")
      json.beginObject()
      json.member("plugin", cause.plugin)
      json.member("rule", cause.rule)
      json.endObject()
    }
    json.member("plugin", plugin)
    json.member("rule")
    json.value(rule.map(JSONValue.string) ?? .null)
    json.member("fired", fired)
    json.member("reason", reason)
    return json
  }

  /// Ends the entry of a rule that did nothing.
  private func endEmptyEntry(_ json: inout JSONWriter, microseconds: Int64) {
    for name in ["writes", "decisions", "effects"] as [StaticString] { writeList(name, [], to: &json) }
    endEntry(&json, microseconds: microseconds)
  }

  private func endEntry(_ json: inout JSONWriter, microseconds: Int64) {
    json.member("micros", microseconds)
    json.endObject()
  }

  private func writeList(_ name: StaticString, _ items: [String], to json: inout JSONWriter) {
    json.member(name)
    json.beginArray()
    for item in items { json.string(item) }
    json.endArray()
  }

  /// Writes which parts of the state a rule read, and the values that they had before it.
  private func writeReads(of rule: Int, in operations: Slice<Operations>, state: JSONValue, to json: inout JSONWriter) {
    let reads = operations.indices.compactMap { index -> String? in
      guard operations.base.rule(at: index) == rule, case .read(let path) = operations[index] else { return nil }
      return String(decoding: path, as: UTF8.self)
    }
    guard !reads.isEmpty else { return }
    writeList("reads", reads, to: &json)
    writeValues(reads.compactMap { path in Self.value(at: path, in: state).map { (path, $0) } }, to: &json)
  }

  /// Writes the part of a rule's `when` that was false.
  private func write(_ condition: FalseCondition, to json: inout JSONWriter) {
    json.member("condition")
    json.beginObject()
    json.member("text", condition.text)
    json.member("file", condition.file)
    json.member("line", condition.line)
    writeValues(condition.values, to: &json)
    json.endObject()
  }

  /// Writes values by name, unless the explanation leaves values out.
  private func writeValues(_ values: [(String, JSONValue)], to json: inout JSONWriter) {
    guard event.explainsValues else { return }
    json.member("values")
    json.beginObject()
    for (name, value) in values {
      json.member(named: name)
      json.value(value)
    }
    json.endObject()
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

  /// Writes a rule's operations, and its decisions that another rule had made already.
  private func writeOperations(_ operations: Slice<Operations>, of plugin: Catalog.Plugin, to json: inout JSONWriter) {
    var decisions: [String] = []
    var effects: [String] = []
    var raised: [String] = []
    var shadowed: [(name: String, rule: Int)] = []
    var others: [(name: StaticString, items: [String])] = [
      ("sends", []), ("timers", []), ("counts", []), ("once", []), ("places", []), ("publishes", []), ("topics", []),
      ("forgets", []),
    ]
    for operation in operations {
      switch operation {
      case .decide(let name, _): decisions.append(String(decoding: name, as: UTF8.self))
      case .emit(let effect): effects.append(String(decoding: effect.id, as: UTF8.self))
      case .raise(let type, _, _, _): raised.append(String(decoding: type, as: UTF8.self))
      case .shadowed(let name, let rule): shadowed.append((String(decoding: name, as: UTF8.self), rule))
      case .send(let subject, let type, _): others[0].items.append("\(Self.text(type)) to \(value(subject))")
      case .setTimer(let name, let type, _, let due, let schedule):
        let repeats = schedule.isEmpty ? "" : ", and then each time of \(value(schedule))"
        let time = value(Timestamp(seconds: due).rfc3339)
        others[1].items.append("\(value(name)): \(Self.text(type)) at \(time)\(repeats)")
      case .cancelTimer(let name): others[1].items.append("\(value(name)): cancelled")
      case .count(let name, let labels, _, _): others[2].items.append("\(Self.text(name)) \(value(labels))")
      case .once(let key, _): others[3].items.append(value(key))
      case .place(let board, let placing, _):
        others[4].items.append("\(value(board)): \(value(Self.text(placing)))")
      case .publish(let topic, let type, _, let except):
        let left = except.isEmpty ? "" : " except \(value(except))"
        others[5].items.append("\(Self.text(type)) to \(value(topic))\(left)")
      case .joinTopic(let name): others[6].items.append("joins \(value(name))")
      case .leaveTopic(let name): others[6].items.append("leaves \(value(name))")
      case .forget(let all): others[7].items.append(all ? "the subject" : "the plugin's state of the subject")
      case .forgetPast: others[7].items.append("the subject's past")
      default: break
      }
    }
    writeList("decisions", decisions, to: &json)
    writeList("effects", effects, to: &json)
    if !raised.isEmpty { writeList("raised", raised, to: &json) }
    for (name, items) in others where !items.isEmpty { writeList(name, items, to: &json) }
    guard !shadowed.isEmpty else { return }
    json.member("shadowed")
    json.beginArray()
    for decision in shadowed {
      json.beginObject()
      json.member("key", decision.name)
      json.member("by", plugin.manifest.rules[decision.rule].name)
      json.endObject()
    }
    json.endArray()
  }

  /// Writes the events that follow: messages and timers, with the ids that they will have.
  ///
  /// `recorded` of the operations before these are for explanations alone.
  private func writeConsequences(
    _ operations: Slice<Operations>, after recorded: Int, of plugin: Catalog.Plugin, to json: inout JSONWriter
  ) {
    var recorded = recorded
    var found: [JSONValue] = []
    for index in operations.indices {
      switch operations[index] {
      case .read, .part: recorded += 1
      case .send(let subject, let type, _):
        let id = ConsequenceID.message(number: index - recorded, of: plugin.nameBytes, event, using: identity)
        found.append([
          "kind": "message", "id": .string(id.text), "type": .string(Self.text(type)),
          "subject": .string(value(subject)),
        ])
      case .setTimer(let name, let type, _, let seconds, _):
        let due = ConsequenceID.due(seconds)
        let id = ConsequenceID.timer(name, due: due, of: plugin.nameBytes, event, using: identity)
        found.append([
          "kind": "timer", "id": .string(id.text), "type": .string(Self.text(type)),
          "subject": .string(Self.text(event.subject)), "due": .string(value(Timestamp(microseconds: due).rfc3339)),
        ])
      default: break
      }
    }
    guard !found.isEmpty else { return }
    json.member("follows")
    json.value(.array(found))
  }

  /// A text that a rule may have made of the state, or what stands for it where the client may not read states.
  private func value(_ text: String) -> String { event.explainsTexts ? text : "…" }
  private func value(_ bytes: Operation.Bytes) -> String { value(Self.text(bytes)) }

  private static func text(_ bytes: Operation.Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func text(_ placing: Operation.Placing) -> String {
    switch placing {
    case .set(let score): Place.json(score).text
    case .add(let number): (number < 0 ? "" : "+") + Place.json(number).text
    case .leave: "left"
    }
  }

  /// The paths at which two states differ, down to the members that changed.
  private static func changes(from old: JSONValue, to new: JSONValue) -> [String] {
    JSONDifference.between(old, new, byName: true, at: "state").map(\.path)
  }
}
