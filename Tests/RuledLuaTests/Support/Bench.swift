import RuledCore
import RuledJSON

@testable import RuledLua

/// A plugin made of strings on a worker of the test's own thread.
final class Bench {
  let worker: LuaWorker
  let host = ScriptedHost()
  /// The plugin's VM; replaced when it is dead.
  private(set) var vm: PluginVM
  private let source: PluginSource
  private let document = TapeDocument()
  /// How many VMs were built.
  private(set) var built = 1

  /// Loads `source` as the plugin `t`; `modules`, `library` and `data` give further files by name.
  init(
    _ source: String, modules: [String: String] = [:], library: [String: String] = [:], data: [String: String] = [:],
    settings: JSONObject = JSONObject(), name: String = "t", worker: LuaWorker = LuaWorker()
  ) throws {
    self.worker = worker
    self.source = PluginSource(
      name: name,
      modules: Bench.files("\(name)/", ["plugin.lua": source].merging(modules) { first, _ in first }),
      data: Bench.files("\(name)/", data), library: Bench.files("lib/", library))
    vm = try PluginVM(source: self.source, settings: settings, worker: worker)
    vm.host = host
  }

  /// A plugin with one rule for all events and what stands before it at file level.
  static func rule(_ run: String, before: String = "", name: String = "t") -> String {
    """
    plugin { name = "\(name)", version = "1.0.0", sinks = { "client" }, settings = { words = "hello", list = { 1, 2, 3 } } }
    \(before)
    rule "r" { on = "*", run = function(event, state)
    \(run)
    end }
    """
  }

  /// Runs all rules on an event, which is an object with data and extensions.
  ///
  /// A dead VM is replaced first.
  func handle(
    _ event: String = "{}", id: String = "1", type: String = "x", state: String = "", seed: UInt64 = 1,
    budget: Budget = Budget(),
    explain: Bool = false
  ) throws -> Outcome {
    try replaceDead()
    var outcome = Outcome()
    guard begin(event, id: id, type: type, state: state, seed: seed, budget: budget, explain: explain) == .done else {
      outcome.failure = vm.failure(rule: nil)
      return outcome
    }
    for rule in vm.manifest.order {
      let name = vm.manifest.rules[rule].name
      switch vm.runRule(rule) {
      case .done: outcome.fired.append(name)
      case .skipped: continue
      case .failed:
        outcome.failure = vm.failure(rule: name)
        return outcome
      }
    }
    guard vm.encodeState(limit: Limits.stateKiB << 10) == .done else {
      outcome.failure = vm.failure(rule: nil)
      return outcome
    }
    outcome.state = String(decoding: vm.output, as: UTF8.self)
    for operation in vm.operations { outcome.note(operation) }
    return outcome
  }

  /// Runs all rules on an event as the engine does: uncounted first, and again with counting if that proves nothing.
  func runUncounted(
    _ event: String = "{}", id: String = "1", type: String = "x", state: String = "", seed: UInt64 = 1,
    budget: Budget = Budget()
  ) throws -> (outcome: Outcome, held: Bool) {
    try replaceDead()
    let outcome = run(event, id: id, type: type, state: state, seed: seed, budget: budget, uncounted: true)
    if vm.endUncounted() { return (outcome, true) }
    try replaceDead()
    return (run(event, id: id, type: type, state: state, seed: seed, budget: budget, uncounted: false), false)
  }

  private func run(
    _ event: String, id: String, type: String, state: String, seed: UInt64, budget: Budget, uncounted: Bool
  ) -> Outcome {
    var outcome = Outcome()
    let result = withEvent(event, id: id, type: type, state: state, seed: seed, explain: false) { event in
      vm.runEvent(
        &event, budget: budget, rules: vm.manifest.order, stateLimit: Limits.stateKiB << 10, uncounted: uncounted)
    }
    switch result {
    case .ended: outcome.state = String(decoding: vm.output, as: UTF8.self)
    case .raised: break
    case .failed(let rule):
      outcome.failure = vm.failure(rule: rule.map { vm.manifest.rules[$0].name })
      return outcome
    }
    for operation in vm.operations { outcome.note(operation) }
    return outcome
  }

  /// Builds a new VM if the last one is dead.
  private func replaceDead() throws {
    guard vm.isDead else { return }
    vm = try PluginVM(source: source, worker: worker)
    vm.host = host
    built += 1
  }

  /// Answers a query on a state, or without a subject.
  func query(_ index: Int, _ arguments: String = "{}", state: String?) -> Result<String, Failure> {
    guard
      begin(arguments, id: "q", type: "", state: state, seed: 1, budget: Budget(), explain: false, readOnly: true)
        == .done,
      vm.query(index, arguments: parse(arguments)) == .done
    else { return .failure(vm.failure(rule: nil)) }
    return .success(String(decoding: vm.output, as: UTF8.self))
  }

  /// Answers a request to a host, without a subject.
  func web(_ index: Int, _ request: String = "{}") -> Result<String, Failure> {
    guard
      begin("{}", id: "w", type: "", state: nil, seed: 1, budget: Budget(), explain: false, readOnly: true) == .done,
      Array(request.utf8).withView({ vm.web(index, request: $0) }) == .done
    else { return .failure(vm.failure(rule: nil)) }
    return .success(String(decoding: vm.output, as: UTF8.self))
  }

  /// Brings a state from version 1 to another.
  func migrate(_ state: String, to version: Int) -> Result<String, Failure> {
    let result = withEvent("{}", id: "m", type: "", state: state, seed: 1, explain: false) { event in
      vm.migrate(
        &event, from: 1, to: version, budget: Budget(), stateLimit: Limits.stateKiB << 10, checksFit: false)
    }
    return result == .done ? .success(String(decoding: vm.output, as: UTF8.self)) : .failure(vm.failure(rule: nil))
  }

  private func parse(_ text: String) -> TapeValue? {
    Array(text.utf8).withView { try? document.parse(copyOf: $0) }
  }

  private func begin(
    _ event: String, id: String, type: String, state: String?, seed: UInt64, budget: Budget, explain: Bool,
    readOnly: Bool = false
  ) -> CallResult {
    withEvent(event, id: id, type: type, state: state, seed: seed, explain: explain, readOnly: readOnly) { event in
      vm.begin(&event, budget: budget)
    }
  }

  /// Calls `body` with the event as a VM takes it.
  private func withEvent<Result>(
    _ event: String, id: String, type: String, state: String?, seed: UInt64, explain: Bool, readOnly: Bool = false,
    _ body: (inout RuleEvent) -> Result
  ) -> Result {
    guard let object = parse(event) else { preconditionFailure("an event that is not JSON: \(event)") }
    let names = ByteBuffer(), states = ByteBuffer()
    for name in [id, type, "user:1"] { names.append(contentsOf: name) }
    states.append(contentsOf: state ?? "")
    defer { withExtendedLifetime((names, states)) {} }
    let typeStart = id.utf8.count, subjectStart = typeStart + type.utf8.count
    let all = names.bytes
    let subject = all.extracting(subjectStart...)
    let typeBytes = all.extracting(typeStart..<subjectStart)
    let stateBytes = state == nil ? nil : states.bytes
    var event =
      readOnly
      ? RuleEvent(reading: state == nil ? nil : subject, state: stateBytes, now: 2_000_000_000)
      : RuleEvent(
        id: all.extracting(..<typeStart), source: subject, type: typeBytes, subject: subject,
        time: 1_000_000_000, now: 2_000_000_000, data: object.member("data"), attributes: object, seed: seed,
        state: stateBytes, isExplained: explain, depth: 0, chain: typeBytes)
    return body(&event)
  }

  private static func files(_ folder: String, _ files: [String: String]) -> [SourceFile] {
    files.map { SourceFile(path: folder + $0.key, text: Array($0.value.utf8)) }.sorted { $0.path < $1.path }
  }
}
