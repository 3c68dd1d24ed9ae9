internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// Runs plugins' tests, and knows afterwards how they went and what they covered.
struct TestRun {
  /// The tests in the order in which they ran.
  private(set) var results: [TestResult] = []
  /// The files that the rules are made of, where coverage was asked for.
  private(set) var covered: [CoveredFile] = []

  /// Runs the tests of a place's plugins whose name, plugin or file matches `filter`.
  ///
  /// - Throws: `ReloadError` for rules or tests that do not load.
  init(_ place: RulesPlace, filter: String?, covers: Bool) throws {
    let worker = LuaWorker()
    let coverage = covers ? Coverage() : nil
    let catalog = try place.load(worker: worker)
    let chosen = catalog.plugins.filter { place.plugin == nil || $0.name == place.plugin }
    var machines: [PluginVM] = []
    var errors: [RuledLua.LoadError] = []
    for plugin in chosen {
      do throws(RuledLua.LoadError) {
        machines.append(try PluginVM(source: plugin.source, worker: worker, tests: true, covering: coverage))
      } catch { errors.append(error) }
    }
    guard errors.isEmpty else { throw ReloadError(errors) }
    try run(&machines, TestDriver(catalog, worker: worker, coverage: coverage), worker, filter, coverage)
    if let coverage { try cover(chosen.map(\.source), worker, &machines, coverage) }
  }

  /// How many tests failed.
  var failed: Int { results.count { $0.failure != nil } }

  private mutating func run(
    _ machines: inout [PluginVM], _ driver: TestDriver, _ worker: LuaWorker, _ filter: String?, _ coverage: Coverage?
  ) throws {
    for place in machines.indices {
      for (index, test) in machines[place].manifest.tests.enumerated() {
        let plugin = machines[place].source.name
        guard Self.matches(filter, [test.name, plugin, test.file]) else { continue }
        if machines[place].isDead {
          machines[place] = try PluginVM(
            source: machines[place].source, worker: worker, tests: true, covering: coverage)
        }
        let vm = machines[place]
        vm.testHost = driver
        let started = EngineClock.monotonic
        try driver.begin(plugin)
        let result = vm.test(index)
        results.append(
          TestResult(
            plugin: plugin, name: test.name, file: test.file, line: test.line,
            microseconds: Int((EngineClock.monotonic - started) / 1000),
            failure: result == .failed ? vm.failure(rule: nil) : nil))
      }
    }
  }

  private static func matches(_ filter: String?, _ names: [String]) -> Bool {
    guard let filter else { return true }
    let pattern = GlobPattern("*\(filter.lowercased())*")
    return names.contains { pattern.matches($0.lowercased()) }
  }

  /// Sums up which lines ran; machines tell when they are let go.
  private mutating func cover(
    _ sources: [PluginSource], _ worker: LuaWorker, _ machines: inout [PluginVM], _ coverage: Coverage
  ) throws {
    machines.removeAll()
    guard let first = sources.first else { return }
    let reader = try PluginVM(source: first, worker: worker)
    let library = (sources.first?.library ?? []).filter { coverage.runs[$0.path] != nil }
    for file in library + sources.flatMap(\.modules) {
      let ran = coverage.runs[file.path] ?? [:]
      let lines = reader.linesOfCode(in: file)
      covered.append(CoveredFile(path: file.path, lines: lines.count, missed: lines.filter { ran[$0] == nil }))
    }
    covered.sort { $0.path < $1.path }
  }
}
