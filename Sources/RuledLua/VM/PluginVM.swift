import CLuaBridge
package import RuledCore
package import RuledJSON

/// The Lua VM of one plugin on one worker, with memory of its own that is freed as a whole.
///
/// A rule that exceeds its budget is stopped for good and leaves the VM unusable: `isDead` is then true, and a new one must be built.
package final class PluginVM {
  /// The address space of a VM, in MiB; it takes memory only where it is used.
  package static let reservedMiB = Int(RB_RESERVED_MIB)

  package let source: PluginSource
  package var manifest: PluginManifest { builder.manifest }
  /// Answers rules; its owner keeps it alive while rules run.
  package unowned(unsafe) var host: (any RuleHost)?
  /// The types of the events whose data the host checks when a rule raises, sends or sets a timer for one.
  package var checkedTypes: [String] = [] {
    didSet {
      rb_vm_check_no_type(handle)
      for type in checkedTypes { type.withSlice { rb_vm_check_type(handle, $0) } }
    }
  }
  package weak var testHost: (any TestHost)?

  private(set) var zones: ZoneDatabase
  /// The worker of the thread that it belongs to, which must outlive the VM there.
  private var worker: LuaWorker?
  /// Whether a zone could not be read since the call began, as the host has no files of zones.
  ///
  /// The call fails then even where the rule catches the error: its decisions about the zone would not be true.
  var lacksZones = false
  let coverage: Coverage?
  let notes: LoadNotes?
  /// Whether an event that failed is run again to find out why.
  package private(set) var findsCause = false
  /// The bytes that were read to explain the current event.
  var explainedBytes = 0
  var handle: OpaquePointer
  var builder: ManifestBuilder
  /// Holds the bytes that a callback returns to Lua, until the next callback.
  let answer = ByteBuffer(capacity: 256)
  var declarationError = ByteBuffer(capacity: 256)
  /// How many ids rules have drawn for the current event.
  var drawn: UInt64 = 0

  /// Loads the plugin.
  ///
  /// With `tests` its test files are loaded too, and nothing is frozen.
  ///
  /// - Parameters:
  ///   - source: the plugin's files.
  ///   - settings: the configured settings.
  ///   - worker: the calling thread's.
  ///   - tests: whether the test files are loaded too.
  ///   - coverage: records which lines run.
  ///   - notes: collects wrong declarations, so that loading continues and finds more of them.
  /// - Throws: the file and line at which it does not load, and why.
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
    guard let handle = rb_vm_new(worker.handle, &host, nil) else {
      throw LoadError(
        file: "", line: 0,
        "there is no memory for the plugin \(source.name); raise the limit on it (LimitAS= of the unit, ulimit -v)")
    }
    self.handle = handle
    rb_vm_set_context(handle, Unmanaged.passUnretained(self).toOpaque())
    if coverage != nil { _ = rb_coverage_start(handle) }
    defer { notes?.manifest = manifest }
    try load(tests: tests)
  }

  deinit {
    if let coverage {
      rb_coverage_runs(handle, Unmanaged.passUnretained(coverage).toOpaque(), addRuns)
    }
    rb_vm_free(handle)
  }

  /// Whether a rule was stopped, so that nothing can run in the VM any more.
  package var isDead: Bool { rb_vm_dead(handle) }

  /// How many milliseconds of processor time the rules took since their budget began, to a tick of 5.
  package var spentMilliseconds: Int { Int(rb_vm_spent(handle)) }

  /// Detaches the VM from its thread: nothing may run in it until `attach` gives it to another.
  package func detach() {
    host = nil
    worker = nil
    rb_vm_move(handle, nil)
  }

  /// Attaches the VM to the calling thread, whose worker this is.
  package func attach(to worker: LuaWorker) {
    self.worker = worker
    zones = worker.zones
    rb_vm_move(handle, worker.handle)
  }

  private func load(tests: Bool) throws(LoadError) {
    let entry = "\(source.name)/plugin.lua"
    guard let file = source.entry else {
      throw LoadError(file: entry, line: 0, "a folder under rules/ is a plugin and needs a plugin.lua")
    }
    try file.check()
    try decodeData()
    try runFile(covered(file), budget: source.data.isEmpty ? .loading : nil)
    guard !manifest.name.isEmpty else {
      throw LoadError(
        file: file.path, line: 1, "the file declares no plugin: begin with plugin { name = \"\(source.name)\" }")
    }
    try setShape()
    if tests {
      for file in source.tests {
        try file.check()
        try runFile(file, budget: .loading)
      }
    } else {
      try throwIfFailed(rb_seal(handle), entry)
    }
  }

  /// The file as it is loaded: with coverage, its parts report their beginnings.
  func covered(_ file: SourceFile) -> SourceFile {
    guard let coverage else { return file }
    return SourceFile(path: file.path, text: coverage.text(of: file))
  }

  /// Decodes the JSON files of the folder, all of them: a file that is half saved must not come into force.
  private func decodeData() throws(LoadError) {
    var native = Budget.loading.native
    for (index, file) in source.data.enumerated() {
      let status = file.text.withView { text in
        file.name.withSlice { name in
          index == 0
            ? rb_load_data(handle, name, rb_slice(text), &native)
            : rb_load_data(handle, name, rb_slice(text), nil)
        }
      }
      if status != RB_OK, !isDead, let error = file.jsonError { throw error }
      try throwIfFailed(status, file.path)
    }
  }

  /// Runs a file; without a budget the one that has begun goes on.
  private func runFile(_ file: SourceFile, budget: Budget?) throws(LoadError) {
    let status = file.text.withView { text in
      file.path.withSlice { path in
        guard var native = budget?.native else { return rb_load(handle, rb_slice(text), path, nil) }
        return rb_load(handle, rb_slice(text), path, &native)
      }
    }
    try throwIfFailed(status, file.path)
  }

  private func throwIfFailed(_ status: rb_status, _ file: String) throws(LoadError) {
    guard status != RB_OK else { return }
    let failure = rb_failure_of(handle)
    let path = failure.file.length > 0 ? failure.file.text : file
    throw LoadError(file: path, line: Int(failure.line), failure.message.text)
  }

  package func failure(rule: String?) -> Failure {
    let native = rb_failure_of(handle)
    if lacksZones, native.kind == RB_KIND_ERROR {
      return Failure(
        plugin: source.name, rule: rule, kind: .error, message: "this host has no time zone files; install tzdata")
    }
    let kind = Failure.Kind.native[Int(native.kind.rawValue)]
    return Failure(
      plugin: source.name, rule: rule, kind: kind, message: native.message.text,
      file: native.file.length > 0 ? native.file.text : nil, line: native.line > 0 ? Int(native.line) : nil)
  }
}

package enum CallResult {
  case done
  /// The rule's `when` was false.
  case skipped
  /// It failed; `failure(rule:)` tells why.
  case failed
}

/// The point that `run` reached with an event.
package enum RunResult {
  /// All rules ran, and the state is encoded in `output`.
  case ended
  /// A rule raised an event; so many rules are done. The others and `encodeState` are left.
  case raised(done: Int)
  /// A rule failed, or a step around the rules; `failure(rule:)` tells why.
  case failed(rule: Int?)
}

extension PluginVM {
  /// Begins an event, runs the rules in order and encodes the state, in at most `stateLimit` bytes.
  ///
  /// With `uncounted`, instructions are not counted if the time can show afterwards that they were within the budget. Call `endUncounted` once the
  /// event is done.
  package func runEvent(
    _ event: inout RuleEvent, budget: Budget, rules: [Int], stateLimit: Int, uncounted: Bool
  ) -> RunResult {
    var native = budget.native
    drawn = 0
    explainedBytes = 0
    lacksZones = false
    return rules.withUnsafeBufferPointer { rules in
      var run = rb_progress()
      run.rules = rules.baseAddress
      run.count = rules.count
      run.state_limit = stateLimit
      guard rb_run(handle, &event.native, &native, uncounted, &run) == RB_OK, !lacksZones else {
        return .failed(rule: run.rule >= 0 ? Int(run.rule) : nil)
      }
      return run.ended ? .ended : .raised(done: run.next)
    }
  }

  /// Ends an event that was run uncounted, whether it failed or not.
  ///
  /// - Returns: false when it may have used more instructions than its budget: its work is void, and it must run again, counted.
  package func endUncounted() -> Bool { rb_end_uncounted(handle) }

  /// Begins an event with the plugin's state for its subject.
  package func begin(_ event: inout RuleEvent, budget: Budget) -> CallResult {
    var native = budget.native
    drawn = 0
    explainedBytes = 0
    lacksZones = false
    return result(rb_begin(handle, &event.native, &native))
  }

  /// Makes the fields of the event that no rule has read yet, before their text is gone.
  package func completeEvent() -> CallResult { result(rb_complete_event(handle)) }

  /// Begins an event that a rule of this plugin raised, within the current one; the state stays as it is.
  package func beginRaised(type: ByteView, data: TapeValue) -> CallResult {
    result(rb_begin_raised(handle, rb_slice(type), rb_json(data), data.index, nil, 0, rb_slice()))
  }

  /// Begins an event that another plugin raised within the same transaction; a new budget starts.
  package func beginRaised(type: ByteView, data: TapeValue, budget: Budget, depth: Int, chain: ByteView) -> CallResult {
    var native = budget.native
    return result(
      rb_begin_raised(handle, rb_slice(type), rb_json(data), data.index, &native, Int32(depth), rb_slice(chain)))
  }

  package func endRaised() { rb_end_raised(handle) }

  package func runRule(_ rule: Int) -> CallResult { result(rb_run_rule(handle, Int32(rule))) }

  /// Adds to a failure the rule, the file and the line that put an unstorable value into the state, or that asked for the `operation` of that number,
  /// from 1 on, if they are found while `run` runs the events again.
  package func withCause(_ failure: Failure, operation: Int, run: () throws(Failure) -> Void) -> Failure {
    findsCause = true
    rb_set_blaming(handle, true, operation)
    defer {
      findsCause = false
      rb_set_blaming(handle, false, 0)
    }
    do throws(Failure) { try run() } catch {}  // it fails as before
    var file = rb_slice()
    var line: Int32 = 0
    var rule: Int32 = 0
    guard rb_blamed(handle, &file, &line, &rule) else { return failure }
    var failure = failure
    failure.file = file.text
    failure.line = Int(line)
    if manifest.rules.indices.contains(Int(rule)) { failure.rule = manifest.rules[Int(rule)].name }
    return failure
  }

  /// Encodes the state into `output`.
  ///
  /// Fails if it can't be stored, does not have the declared shape, or is larger than `limit` bytes; with a limit of 0 it may have any size and
  /// shape.
  package func encodeState(limit: Int) -> CallResult { result(rb_encode_state(handle, limit)) }

  /// Answers the query of that index into `output`.
  package func query(_ index: Int, arguments: TapeValue?) -> CallResult {
    lacksZones = false
    return result(rb_query(handle, Int32(index), arguments.map { rb_json($0) } ?? rb_json(), arguments?.index ?? 0))
  }

  /// Calls a `web` handler with the request as JSON; `output` is an array of its results.
  package func web(_ index: Int, request: ByteView) -> CallResult {
    lacksZones = false
    return result(rb_handle(handle, RB_DECLARE_WEB, Int32(index), rb_slice(request)))
  }

  /// Calls a `sink` handler with the effect as JSON; `output` is an array of its results.
  package func sink(_ index: Int, effect: ByteView) -> CallResult {
    lacksZones = false
    return result(rb_handle(handle, RB_DECLARE_SINK, Int32(index), rb_slice(effect)))
  }

  package func test(_ index: Int, budget: Budget = .test) -> CallResult {
    var native = budget.native
    lacksZones = false
    return result(rb_test(handle, Int32(index), &native))
  }

  /// Where the test that runs is now; to be asked while it calls the host.
  package var testLocations: [TestLocation] { TestLocation.list(rb_test_place(handle).text) }

  /// Where the last test failed; empty if it did not, or if it was stopped.
  package var failedLocations: [TestLocation] { TestLocation.list(rb_failed_place(handle).text) }

  /// Whether the last test has called `t:equal`, `t:truthy` or `t:fails`.
  package var hasCompared: Bool { rb_test_compared(handle) }

  /// The result of the last call, as JSON: the state or a function's result; valid until the next call.
  package var output: ByteView { @_effects(releasenone) get { rb_result(handle).raw } }

  /// The operations that rules asked for since `begin`; valid until the next call.
  package var operations: Operations {
    @_effects(releasenone) get {
      var count = 0
      let first = rb_ops(handle, &count)
      return Operations(UnsafeBufferPointer(start: first, count: count), bytes: rb_op_bytes(handle))
    }
  }

  /// From now on, records which rules run on each event; instructions are counted of those events whose seed has no bit in common with `mask`.
  package func recordCosts(mask: UInt64) { rb_record_costs(handle, mask) }

  /// The rules that ran since `begin`, by index, with their instructions where these were counted.
  package var costs: [(rule: Int, instructions: Int?)] {
    var count = 0
    guard let first = rb_costs(handle, &count) else { return [] }
    return UnsafeBufferPointer(start: first, count: count).map { cost in
      (Int(cost.rule), cost.instructions < 0 ? nil : Int(cost.instructions))
    }
  }

  /// Marks the operations that later ones of the event undo; call it once all rules of the event have run.
  package func collapseOperations() { rb_collapse_ops(handle) }

  func result(_ status: rb_status) -> CallResult {
    if lacksZones { return .failed }
    return switch status {
    case RB_OK: .done
    case RB_NOT_FIRED: .skipped
    default: .failed
    }
  }
}
