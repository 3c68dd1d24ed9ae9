import CJSON
import CLuaBridge
import RuledCore

@testable import RuledLua

/// A plugin made of strings on a worker of the test's own thread.
final class Bench {
  let worker = LuaWorker()
  let host = ScriptedHost()
  /// The plugin's machine; replaced when it was left.
  private(set) var vm: PluginVM
  private let source: PluginSource
  private let document: OpaquePointer
  private let text = ByteBuffer(capacity: 4096)
  /// How many machines had to be built.
  private(set) var built = 1

  /// Loads `source` as the plugin `t`; `modules`, `library` and `data` give further files by name.
  init(
    _ source: String, modules: [String: String] = [:], library: [String: String] = [:], data: [String: String] = [:],
    settings: JSONObject = JSONObject(), name: String = "t"
  ) throws {
    self.source = PluginSource(
      name: name,
      modules: Bench.files("\(name)/", ["plugin.lua": source].merging(modules) { first, _ in first }),
      data: Bench.files("\(name)/", data), library: Bench.files("lib/", library))
    guard let document = cj_new() else { fatalError("no memory") }
    self.document = document
    vm = try PluginVM(source: self.source, settings: settings, worker: worker)
    vm.host = host
  }

  deinit { cj_free(document) }

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
  /// A machine that was left is replaced first.
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
      switch vm.run(rule: rule) {
      case .done: outcome.fired.append(name)
      case .skipped: continue
      case .failed:
        outcome.failure = vm.failure(rule: name)
        return outcome
      }
    }
    guard vm.finish(limit: Limits.stateKiB << 10) == .done else {
      outcome.failure = vm.failure(rule: nil)
      return outcome
    }
    outcome.state = String(decoding: vm.output, as: UTF8.self)
    for operation in vm.operations { note(operation, in: &outcome) }
    return outcome
  }

  /// Runs all rules on an event as the engine does: without counting first, and again when that proves nothing.
  func attempt(
    _ event: String = "{}", id: String = "1", type: String = "x", state: String = "", seed: UInt64 = 1,
    budget: Budget = Budget()
  ) throws -> (outcome: Outcome, held: Bool) {
    try replaceDead()
    let outcome = run(event, id: id, type: type, state: state, seed: seed, budget: budget, attempt: true)
    if vm.settle() { return (outcome, true) }
    try replaceDead()
    return (run(event, id: id, type: type, state: state, seed: seed, budget: budget, attempt: false), false)
  }

  private func run(
    _ event: String, id: String, type: String, state: String, seed: UInt64, budget: Budget, attempt: Bool
  ) -> Outcome {
    var outcome = Outcome()
    let result = withNative(event, id: id, type: type, state: state, seed: seed) { native in
      vm.run(&native, budget: budget, rules: vm.manifest.order, stateLimit: Limits.stateKiB << 10, attempt: attempt)
    }
    switch result {
    case .ended: outcome.state = String(decoding: vm.output, as: UTF8.self)
    case .raised: break
    case .failed(let rule):
      outcome.failure = vm.failure(rule: rule.map { vm.manifest.rules[$0].name })
      return outcome
    }
    for operation in vm.operations { note(operation, in: &outcome) }
    return outcome
  }

  /// Builds a machine anew when the last one was left.
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
      vm.query(index, document: document, arguments: Int(CJ_ROOT)) == .done
    else { return .failure(vm.failure(rule: nil)) }
    return .success(String(decoding: vm.output, as: UTF8.self))
  }

  private func begin(
    _ event: String, id: String, type: String, state: String?, seed: UInt64, budget: Budget, explain: Bool,
    readOnly: Bool = false
  ) -> CallResult {
    withNative(event, id: id, type: type, state: state, seed: seed) { native in
      native.read_only = readOnly
      native.explain = explain
      return vm.begin(&native, budget: budget)
    }
  }

  /// Calls `body` with the event as a machine takes it.
  private func withNative<Result>(
    _ event: String, id: String, type: String, state: String?, seed: UInt64, _ body: (inout rb_event) -> Result
  ) -> Result {
    text.removeAll()
    text.append(contentsOf: event)
    text.reserve(64)
    text.bytes.withMemoryRebound(to: CChar.self) { chars in
      guard let bytes = chars.baseAddress else { preconditionFailure("a buffer has storage") }
      precondition(cj_parse(document, bytes, text.count, text.count + 64) == 0, "an event that is not JSON: \(event)")
    }
    let data = "data".withCString { cj_member(cj_tape(document), cj_strings(document), 1, $0, 4) }
    return id.withSlice { id in
      type.withSlice { type in
        (state ?? "").withSlice { state in
          "user:1".withSlice { subject in
            var native = rb_event()
            native.id = id
            native.source = subject
            native.type = type
            native.subject = subject
            native.time = 1_000
            native.now = 2_000
            native.document = document
            native.data = data
            native.attributes = 1
            native.seed = seed
            native.state = state
            native.chain = type
            return body(&native)
          }
        }
      }
    }
  }

  private func note(_ operation: rb_op, in outcome: inout Outcome) {
    let names = [
      "decide", "shadowed", "emit", "raise", "send", "count", "timer.set", "timer.cancel", "forget", "log", "once",
      "read",
    ]
    let parts = [
      (operation.a, operation.a_length), (operation.b, operation.b_length), (operation.c, operation.c_length),
      (operation.d, operation.d_length),
    ].map { String(decoding: vm.bytes($0.0, $0.1), as: UTF8.self) }
    if operation.kind == 0 { outcome.decisions[parts[0]] = parts[1] }
    outcome.operations.append(([names[Int(operation.kind)]] + parts.filter { !$0.isEmpty }).joined(separator: " "))
  }

  private static func files(_ folder: String, _ files: [String: String]) -> [SourceFile] {
    files.map { SourceFile(path: folder + $0.key, text: Array($0.value.utf8)) }.sorted { $0.path < $1.path }
  }
}
