internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// One of the tests of a plugin.
struct TestCase: Sendable {
  let plugin: String
  /// Its index in the plugin's manifest.
  let index: Int
  /// Its name and place.
  let declaration: PluginManifest.Handler
}

/// Runs tests on one thread, one after the other.
final class TestWorker {
  /// The Lua of the thread.
  let lua: LuaWorker
  /// What ran, if that is measured.
  let coverage: Coverage?
  /// Drives the tests; nil once what ran was summed up.
  private var driver: TestDriver?
  private var catalog: Catalog
  private let options: TestOptions
  private var vms: [String: PluginVM] = [:]

  /// A worker for the calling thread over loaded rules.
  init(_ catalog: Catalog, lua: LuaWorker, options: TestOptions) throws(RequestError) {
    self.catalog = catalog
    self.lua = lua
    self.options = options
    coverage = options.measuresCoverage ? Coverage() : nil
    driver = try TestDriver(catalog, worker: lua, coverage: coverage, options: options)
  }

  /// Puts other rules in force.
  func adopt(_ catalog: Catalog) {
    self.catalog = catalog
    vms.removeAll()
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
    let started = EngineClock.monotonic
    try driver.begin(test.plugin)
    let result = vm.test(test.index, budget: budget)
    let microseconds = Int((EngineClock.monotonic - started) / 1000)
    return TestResult(
      plugin: test.plugin, name: test.declaration.name, file: test.declaration.file, line: test.declaration.line,
      microseconds: microseconds,
      failure: Self.failure(of: test, result == .failed ? vm.failure(rule: nil) : nil, driver.failures.unexpected),
      log: driver.takeLog())
  }

  /// Why a test failed: by itself, or because rules failed that it did not expect to.
  private static func failure(
    of test: TestCase, _ failure: Failure?, _ unexpected: [TestFailures.Entry]
  ) -> Failure? {
    guard let first = unexpected.first, let text = TestFailures.text(unexpected) else { return failure }
    guard var failure else {
      return Failure(
        plugin: test.plugin, kind: .error, message: text, file: first.failure["file"]?.stringValue,
        line: first.failure["line"]?.intValue.map { Int($0) })
    }
    failure.message += "\n\(text)"
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

  /// What ran in the selected files; no test runs after that.
  ///
  /// All VMs are released, as each adds its lines then.
  func covered(_ sources: [PluginSource]) throws(LoadError) -> CoverageReport {
    vms.removeAll()
    driver = nil
    guard let coverage, let first = sources.first else { return CoverageReport() }
    let reader = try PluginVM(source: first, worker: lua)
    var report = CoverageReport()
    for file in (first.library + sources.flatMap(\.modules)).filter(options.tests)
    where coverage.parts[file.path] != nil || !file.isShared {
      let ran = Set((coverage.runs[file.path] ?? [:]).keys)
      let parts = coverage.parts[file.path] ?? []
      report.add(
        CoveredFile(
          path: file.path, lines: reader.linesOfCode(in: file), ranLines: ran,
          parts: parts.map { ($0.kind, $0.line) }, ranParts: parts.map { coverage.beginnings[$0.number] > 0 }))
    }
    return report
  }
}

extension SourceFile {
  /// Whether it is a module that plugins share.
  fileprivate var isShared: Bool { path.hasPrefix("lib/") }
}
