internal import RuledEngine
internal import RuledLua
internal import Synchronization

struct TestRun: Sendable {
  /// The tests in order of their plugins, files and declarations.
  private(set) var results: [TestResult] = []
  private(set) var coverage = CoverageReport()

  /// Runs the tests of the selected plugins.
  ///
  /// - Throws: `ReloadError` for rules or tests that do not load.
  init(_ selection: RulesSelection, _ options: TestOptions) throws {
    let source = try selection.read()
    let first = try TestWorker(selection, source, options)
    let sources = source.plugins.filter { selection.contains($0.name) }
    var tests: [TestCase] = []
    var errors: [LoadError] = []
    for plugin in sources {
      do throws(LoadError) {
        tests += try first.tests(of: plugin.name).filter { options.selects($0.declaration, of: plugin.name) }
      } catch { errors.append(error) }
    }
    guard errors.isEmpty else { throw ReloadError(errors) }
    let work = SharedWork<TestCase, TestResult>(tests)
    let coverage = Mutex(CoverageReport())
    let run = { @Sendable (worker: TestWorker) in
      try work.forEach { try worker.run($0) }
      guard worker.coverage != nil else { return }
      let report = try worker.covered(sources, withLibrary: selection.contains("lib"))
      coverage.withLock { $0.merge(report) }
    }
    results = try work.results(jobs: options.jobs, name: "test") {
      try run(first)
    } further: {
      try run(try TestWorker(selection, source, options))
    }
    self.coverage = coverage.withLock(\.self)
  }

  var plugins: [(name: String, results: [TestResult])] {
    var names: [String] = []
    for result in results where names.last != result.plugin { names.append(result.plugin) }
    return names.map { name in (name, results.filter { $0.plugin == name }) }
  }

  var failed: Int { results.count { $0.failure != nil } }
}
