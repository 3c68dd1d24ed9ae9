internal import RuledCore
internal import RuledEngine
internal import RuledLua

struct TestCase: Sendable {
  let plugin: String
  /// Its index in the plugin's manifest.
  let index: Int
  let declaration: PluginManifest.Handler
}

/// Runs tests on one thread, one after the other.
final class TestWorker {
  let lua: LuaWorker
  let coverage: Coverage?
  /// Drives the tests; nil once the coverage was summed up.
  private var driver: TestDriver?
  private(set) var catalog: Catalog
  private let options: TestOptions
  private var vms: [String: PluginVM] = [:]

  /// A worker for the calling thread, over the rules of a selection, which were read before.
  init(_ selection: RulesSelection, _ source: RulesSource, _ options: TestOptions) throws {
    lua = LuaWorker()
    catalog = try selection.load(source, worker: lua)
    self.options = options
    coverage = options.measuresCoverage ? Coverage() : nil
    driver = try TestDriver(catalog, worker: lua, coverage: coverage, options: options)
  }

  /// Puts other rules in force.
  ///
  /// The tests of a plugin are loaded again only if they may tell its files from those before: to load its data takes most of the time.
  func adopt(_ catalog: Catalog) {
    self.catalog = catalog
    vms = vms.filter { name, vm in
      guard let plugin = catalog.plugins.first(where: { $0.name == name }) else { return false }
      if plugin.source == vm.source { return true }
      return vm.source.tests == plugin.source.tests && !vm.source.tests.contains(where: \.requiresModules)
        && vm.source.data == plugin.source.data && vm.manifest.version == plugin.manifest.version
        && JSONValue.object(vm.manifest.settings) == .object(plugin.manifest.settings)
    }
    driver?.adopt(catalog)
  }

  /// The tests of a plugin.
  ///
  /// - Throws: `LoadError` if its test files do not load.
  func tests(of plugin: String) throws(LoadError) -> [TestCase] {
    try vm(of: plugin).manifest.tests.enumerated().map {
      TestCase(plugin: plugin, index: $0.offset, declaration: $0.element)
    }
  }

  func run(_ test: TestCase, budget: Budget = .test) throws -> TestResult {
    guard let driver else { throw TestFailure("the worker has ended") }
    let vm = try vm(of: test.plugin)
    vm.testHost = driver
    driver.locations = { [unowned vm] in vm.testLocations }
    let started = EngineClock.monotonic
    try driver.begin(test.plugin)
    let result = vm.test(test.index, budget: budget)
    var failure = self.failure(of: test, result == .failed ? self.failure(of: vm) : nil, driver)
    if let unheard = driver.unheard { failure?.message += "\n\(unheard)" }
    let microseconds = Int((EngineClock.monotonic - started) / 1000)
    return TestResult(
      plugin: test.plugin, name: test.declaration.name, file: test.declaration.file, line: test.declaration.line,
      microseconds: microseconds, failure: failure, hasCompared: failure != nil || hasCompared(test, vm, driver),
      log: driver.takeLog())
  }

  /// Whether a test called a comparison, which can fail it; tests of a file with `assert` or `error` count as if they had.
  private func hasCompared(_ test: TestCase, _ vm: PluginVM, _ driver: TestDriver) -> Bool {
    if vm.hasCompared || driver.hasCompared || driver.isCaptured { return true }
    let file = vm.source.tests.first { $0.path == test.declaration.file }
    let text = String(decoding: file?.text ?? [], as: UTF8.self)
    return text.contains("assert(") || text.contains("error(")
  }

  /// Why a test failed: by itself, by unexpected failures of rules, or because it was captured and no rule ran.
  private func failure(of test: TestCase, _ own: Failure?, _ driver: TestDriver) -> Failure? {
    let unexpected = driver.failures.unexpected
    guard let first = unexpected.first, let text = TestFailures.text(unexpected) else {
      guard own == nil, driver.isCaptured, !driver.engine.hasRunRules else { return own }
      return Failure(
        plugin: test.plugin, kind: .error,
        message: "no rule ran: nothing of what was captured reaches a rule that is loaded here",
        file: test.declaration.file, line: test.declaration.line)
    }
    let after = own.map { own in
      "\nthen at \(own.file ?? test.declaration.file):\(own.line ?? test.declaration.line): \(own.message)"
    }
    return Failure(
      plugin: test.plugin, kind: .error, message: text + (after ?? ""), file: first.failure["file"]?.stringValue,
      line: first.failure["line"]?.intValue.map { Int($0) })
  }

  /// Why the test of a VM failed, with the lines of the test and of the helpers that it calls.
  private func failure(of vm: PluginVM) -> Failure {
    var failure = vm.failure(rule: nil)
    let locations = vm.failedLocations
    if locations.count > 1 { failure.message += locations.map { "\n  at \($0.text)" }.joined() }
    return failure
  }

  private func vm(of plugin: String) throws(LoadError) -> PluginVM {
    if let vm = vms[plugin], !vm.isDead { return vm }
    guard let source = catalog.plugins.first(where: { $0.name == plugin })?.source else {
      throw LoadError(file: "", line: 0, "there is no plugin '\(plugin)'")
    }
    let vm = try PluginVM(source: source, worker: lua, tests: true, covering: coverage)
    vms[plugin] = vm
    return vm
  }

  // MARK: Coverage

  /// The coverage of the selected files, and of the library's if it is one of them; no test runs after that.
  ///
  /// All VMs are released, as each adds its lines then.
  func covered(_ sources: [PluginSource], withLibrary: Bool) throws(LoadError) -> CoverageReport {
    vms.removeAll()
    driver = nil
    guard let coverage, let first = sources.first else { return CoverageReport() }
    let reader = try PluginVM(source: first, worker: lua)
    var report = CoverageReport()
    for file in ((withLibrary ? first.library : []) + sources.flatMap(\.modules)).filter(options.tests)
    where coverage.parts[file.path] != nil || !file.isShared {
      let ran = Set((coverage.runs[file.path] ?? [:]).keys)
      let parts = coverage.parts[file.path] ?? []
      report.add(
        CoveredFile(
          path: file.path, lines: reader.linesOfCode(in: file), ranLines: ran,
          parts: parts.map { ($0.kind, $0.line, coverage.beginnings[$0.number] > 0) }))
    }
    return report
  }
}

extension SourceFile {
  fileprivate var isShared: Bool { path.hasPrefix("lib/") }

  /// Whether it may load modules; other files see of a plugin its settings, its name and its version.
  fileprivate var requiresModules: Bool { String(decoding: text, as: UTF8.self).contains("require") }
}
