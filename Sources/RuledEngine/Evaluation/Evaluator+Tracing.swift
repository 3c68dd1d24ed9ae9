import CLuaBridge
import RuledCore
import RuledLua

/// Explanations: each rule that was considered, and why it fired or not.
extension Evaluator {
  /// Traces rules of a plugin that do not run: those that hear the type with a reason, the others with what they listen to.
  func explainUnfired(_ plugin: Int, _ order: ArraySlice<Int>, heard: [Int], type: String, _ reason: String) {
    for rule in order {
      guard !heard.contains(rule) else {
        traceUnfired(plugin, rule, reason)
        continue
      }
      let patterns = catalog.plugins[plugin].manifest.rules[rule].on.map { "'\($0.text)'" }.joined(separator: ", ")
      traceUnfired(plugin, rule, "listens to \(patterns), not to '\(type)'")
    }
  }

  /// Traces the rules of a plugin that does not take events of this source.
  func explainSource(_ plugin: Int, _ rules: [Int], type: String) {
    let entry = catalog.plugins[plugin]
    let sources = entry.manifest.sources.map { "'\($0.text)'" }.joined(separator: ", ")
    let source = event.map { String(decoding: $0.source, as: UTF8.self) } ?? ""
    let reason = "the plugin takes sources \(sources), not '\(source)'"
    explainUnfired(plugin, entry.order[...], heard: rules, type: type, reason)
  }

  /// Traces the rules of a suspended plugin.
  func explainSuspended(_ plugin: Int, _ rules: [Int], type: String) {
    let reason = "the plugin is suspended; reload it or retry its events"
    explainUnfired(plugin, catalog.plugins[plugin].order[...], heard: rules, type: type, reason)
  }

  /// Runs a rule and traces what it did.
  func explained(_ rule: Int, of plugin: Int, on vm: PluginVM) -> CallResult {
    _ = vm.finish(limit: .max)
    let before = try? JSONValue(parsing: vm.output)
    let first = vm.operations.count
    let started = EngineClock.monotonic
    let result = vm.run(rule: rule)
    let micros = Int64((EngineClock.monotonic - started) / 1000)
    guard result != .failed else {
      let failure = vm.failure(rule: nil)
      openTrace(plugin, rule, fired: true, "failed: \(failure.message)")
      closeTrace(micros)
      return result
    }
    openTrace(plugin, rule, fired: result == .done, result == .done ? "its event came" : "'when' was false")
    let operations = vm.operations
    traceReads(operations, vm)
    guard result == .done else {
      closeTrace(micros)
      return result
    }
    let new = Array(operations[first...])
    guard vm.finish(limit: .max) != .failed else {
      closeTrace(micros)
      return result
    }
    let after = try? JSONValue(parsing: vm.output)
    traceList("writes", Self.changes(from: before ?? .object([:]), to: after ?? .object([:]), at: "state"))
    traceOperations("decisions", RB_OP_DECIDE, \.a, \.a_length, new, vm)
    traceOperations("effects", RB_OP_EMIT, \.d, \.d_length, new, vm)
    traceOperations("raised", RB_OP_RAISE, \.a, \.a_length, new, vm)
    traceShadowed(new, vm, plugin)
    closeTrace(micros, hasLists: true)
    return result
  }

  // MARK: Entries

  private func traceUnfired(_ plugin: Int, _ rule: Int, _ reason: String) {
    openTrace(plugin, rule, fired: false, reason)
    closeTrace(0)
  }

  private func openTrace(_ plugin: Int, _ rule: Int, fired: Bool, _ reason: String) {
    if trace.count > 0 { trace.append(UInt8(ascii: ",")) }
    trace.append("{\"plugin\":" as StaticString)
    trace.append(jsonString: catalog.plugins[plugin].name)
    trace.append(",\"rule\":" as StaticString)
    trace.append(jsonString: catalog.plugins[plugin].manifest.rules[rule].name)
    trace.append(fired ? ",\"fired\":true" as StaticString : ",\"fired\":false")
    trace.append(",\"reason\":" as StaticString)
    trace.append(jsonString: reason)
  }

  private func closeTrace(_ micros: Int64, hasLists: Bool = false) {
    if !hasLists { trace.append(",\"writes\":[],\"decisions\":[],\"effects\":[]" as StaticString) }
    trace.append(",\"micros\":" as StaticString)
    trace.append(decimal: micros)
    trace.append(UInt8(ascii: "}"))
  }

  private func traceList(_ name: StaticString, _ items: [String]) {
    trace.append(",\"" as StaticString)
    trace.append(name)
    trace.append("\":[" as StaticString)
    for (index, item) in items.enumerated() {
      if index > 0 { trace.append(UInt8(ascii: ",")) }
      trace.append(jsonString: item)
    }
    trace.append(UInt8(ascii: "]"))
  }

  private func traceOperations(
    _ name: StaticString, _ kind: rb_op_kind, _ offset: KeyPath<rb_op, UInt32>, _ length: KeyPath<rb_op, UInt32>,
    _ operations: [rb_op], _ vm: PluginVM
  ) {
    let chosen = operations.filter { $0.kind == UInt8(kind.rawValue) }
    if chosen.isEmpty, kind == RB_OP_RAISE { return }
    traceList(
      name, chosen.map { String(decoding: vm.bytes($0[keyPath: offset], $0[keyPath: length]), as: UTF8.self) })
  }

  private func traceReads(_ operations: UnsafeBufferPointer<rb_op>, _ vm: PluginVM) {
    guard let last = operations.last else { return }
    let reads = operations.filter { $0.kind == UInt8(RB_OP_READ.rawValue) && $0.rule == last.rule }
    guard !reads.isEmpty else { return }
    traceList("reads", reads.map { String(decoding: vm.bytes($0.a, $0.a_length), as: UTF8.self) })
  }

  private func traceShadowed(_ operations: [rb_op], _ vm: PluginVM, _ plugin: Int) {
    let shadowed = operations.filter { $0.kind == UInt8(RB_OP_SHADOWED.rawValue) }
    guard !shadowed.isEmpty else { return }
    trace.append(",\"shadowed\":[" as StaticString)
    for (index, operation) in shadowed.enumerated() {
      if index > 0 { trace.append(UInt8(ascii: ",")) }
      trace.append("{\"key\":" as StaticString)
      trace.append(jsonString: vm.bytes(operation.a, operation.a_length))
      trace.append(",\"by\":" as StaticString)
      trace.append(jsonString: catalog.plugins[plugin].manifest.rules[Int(operation.integer)].name)
      trace.append(UInt8(ascii: "}"))
    }
    trace.append(UInt8(ascii: "]"))
  }

  // MARK: Differences

  /// The paths at which two states differ, down to the members that changed.
  static func changes(from old: JSONValue, to new: JSONValue, at path: String) -> [String] {
    if old == new { return [] }
    if case .object(let left) = old, case .object(let right) = new {
      let names = Set(left.names).union(right.names).sorted()
      return names.flatMap { name -> [String] in
        guard let before = left[name], let after = right[name] else { return ["\(path).\(name)"] }
        return changes(from: before, to: after, at: "\(path).\(name)")
      }
    }
    if case .array(let left) = old, case .array(let right) = new {
      return (0..<max(left.count, right.count)).flatMap { index -> [String] in
        guard index < left.count, index < right.count else { return ["\(path)[\(index + 1)]"] }
        return changes(from: left[index], to: right[index], at: "\(path)[\(index + 1)]")
      }
    }
    return [path]
  }
}
