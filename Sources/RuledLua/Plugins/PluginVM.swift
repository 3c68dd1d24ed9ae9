import CLuaBridge
package import RuledCore

/// One plugin on one worker: a virtual machine whose memory is dropped whole when it is left.
///
/// A plugin that exceeds its budget leaves its machine for good; `isDead` then tells that a fresh one must be built.
package final class PluginVM {
  /// The plugin's files.
  package let source: PluginSource
  /// What it declared.
  package var manifest: PluginManifest { builder.manifest }
  /// Who answers what its rules ask; whoever sets it keeps it alive for as long as rules run.
  package unowned(unsafe) var host: (any RuleHost)?
  /// Who drives its tests.
  package weak var testHost: (any TestHost)?

  /// The time zones of the thread whose machine it is.
  private(set) var zones: ZoneDatabase
  /// Lives as long as the machine is its thread's.
  private var worker: LuaWorker?
  private let coverage: Coverage?
  let notes: LoadNotes?
  var machine: OpaquePointer
  var builder: ManifestBuilder
  /// Keeps alive what a callback hands to Lua until the next callback.
  let answer = ByteBuffer(capacity: 256)
  var declarationError = ByteBuffer(capacity: 256)
  /// How many ids the current event has drawn.
  var drawn: UInt64 = 0

  /// Loads the plugin; with `tests`, its test files too, and then nothing is frozen.
  ///
  /// - Parameters:
  ///   - source: the plugin's files.
  ///   - settings: what the configuration sets.
  ///   - worker: the calling thread's.
  ///   - tests: whether the test files are loaded too.
  ///   - coverage: learns which lines run.
  ///   - notes: gathers wrong declarations, so that the loading goes on and finds more.
  /// - Throws: where and why it does not load.
  package init(
    source: PluginSource, settings: JSONObject = JSONObject(), worker: LuaWorker, tests: Bool = false,
    covering coverage: Coverage? = nil, noting notes: LoadNotes? = nil
  ) throws(LoadError) {
    self.source = source
    self.coverage = coverage
    self.notes = notes
    self.worker = worker
    zones = worker.zones
    builder = ManifestBuilder(folder: source.name, overrides: settings, takesTests: tests, notes: notes)
    var host = rb_host(call: answerCall, find: findModule, declare: takeDeclaration)
    guard let machine = rb_vm_new(worker.handle, &host, nil) else {
      throw LoadError(file: "", line: 0, "there is no memory for the plugin \(source.name)")
    }
    self.machine = machine
    rb_vm_set_context(machine, Unmanaged.passUnretained(self).toOpaque())
    if coverage != nil { rb_coverage_start(machine) }
    try load(tests: tests)
  }

  deinit {
    if let coverage {
      rb_coverage_runs(machine, Unmanaged.passUnretained(coverage).toOpaque(), addRuns)
    }
    rb_vm_free(machine)
  }

  /// Whether the machine has been left, so that nothing can be run in it any more.
  package var isDead: Bool { rb_vm_dead(machine) }

  /// How many bytes the plugin holds.
  package var memory: Int { rb_vm_memory(machine) }

  /// Lets go of the thread that it was made on: nothing may run in it until it is moved to another.
  package func leaveThread() {
    host = nil
    worker = nil
    rb_vm_move(machine, nil)
  }

  /// Makes it a machine of the calling thread, whose worker that is.
  package func move(to worker: LuaWorker) {
    self.worker = worker
    zones = worker.zones
    rb_vm_move(machine, worker.handle)
  }

  private func load(tests: Bool) throws(LoadError) {
    let entry = "\(source.name)/plugin.lua"
    guard let file = source.entry else {
      throw LoadError(file: entry, line: 0, "a folder under rules/ is a plugin and needs a plugin.lua")
    }
    try run(file, budget: .loading)
    guard !manifest.name.isEmpty else {
      throw LoadError(
        file: file.path, line: 1, "the file declares no plugin: begin with plugin { name = \"\(source.name)\" }")
    }
    if tests {
      for file in source.tests { try run(file, budget: .loading) }
    } else {
      try check(rb_seal(machine), entry)
    }
  }

  private func run(_ file: SourceFile, budget: Budget) throws(LoadError) {
    var native = budget.native
    let status = file.text.withUnsafeBytes { text in
      file.path.withSlice { path in rb_load(machine, rb_slice(text), path, &native) }
    }
    try check(status, file.path)
  }

  private func check(_ status: rb_status, _ file: String) throws(LoadError) {
    guard status != RB_OK else { return }
    let failure = rb_failure_of(machine)
    let place = failure.file.length > 0 ? failure.file.text : file
    throw LoadError(file: place, line: Int(failure.line), failure.message.text)
  }

  /// Why the last call failed.
  package func failure(rule: String?) -> Failure {
    let native = rb_failure_of(machine)
    let kinds: [Failure.Kind] = [.error, .instructions, .memory, .time, .state, .value, .cycle]
    let kind = kinds[Int(native.kind.rawValue)]
    return Failure(
      plugin: source.name, rule: rule, kind: kind, message: native.message.text,
      file: native.file.length > 0 ? native.file.text : nil, line: native.line > 0 ? Int(native.line) : nil)
  }
}
