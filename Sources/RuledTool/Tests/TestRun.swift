internal import RuledEngine
internal import RuledLua
internal import RuledThreads
internal import Synchronization

/// A run of plugins' tests: their results and the coverage.
struct TestRun: Sendable {
  /// The tests in order of their plugins, files and declarations.
  private(set) var results: [TestResult] = []
  /// What ran of the rules, if coverage was measured.
  private(set) var coverage = CoverageReport()

  /// Runs the tests of the selected plugins.
  ///
  /// - Throws: `ReloadError` for rules or tests that do not load.
  init(_ selection: RulesSelection, _ options: TestOptions) throws {
    let source = try selection.read()
    let first = try Self.worker(selection, source, options)
    let sources = source.plugins.filter { selection.contains($0.name) }
    var tests: [TestCase] = []
    var errors: [LoadError] = []
    for plugin in sources {
      do throws(LoadError) {
        tests += try first.tests(of: plugin.name).filter { options.selects($0.declaration, of: plugin.name) }
      } catch { errors.append(error) }
    }
    guard errors.isEmpty else { throw ReloadError(errors) }
    let shared = SharedTests(tests)
    let threads = try (1..<max(1, min(options.jobs, tests.count))).map { number in
      try Thread(name: "test-\(number)") { shared.run(sources) { try Self.worker(selection, source, options) } }
    }
    shared.run(sources) { first }
    for thread in threads { thread.join() }
    (results, coverage) = try shared.end()
  }

  private static func worker(
    _ selection: RulesSelection, _ source: RulesSource, _ options: TestOptions
  ) throws -> TestWorker {
    let lua = LuaWorker()
    return try TestWorker(try selection.load(source, worker: lua), lua: lua, options: options)
  }

  /// The results of each plugin, in order.
  var plugins: [(name: String, results: [TestResult])] {
    var names: [String] = []
    for result in results where names.last != result.plugin { names.append(result.plugin) }
    return names.map { name in (name, results.filter { $0.plugin == name }) }
  }

  var failed: Int { results.count { $0.failure != nil } }
}

/// The tests that several threads take in turn, and their results.
private final class SharedTests: Sendable {
  private struct Progress {
    var next = 0
    var results: [TestResult?]
    var coverage = CoverageReport()
    var error: (any Error)?
  }

  private let tests: [TestCase]
  private let progress: Mutex<Progress>

  init(_ tests: [TestCase]) {
    self.tests = tests
    progress = Mutex(Progress(results: Array(repeating: nil, count: tests.count)))
  }

  /// Runs tests on the calling thread until none is left.
  func run(_ sources: [PluginSource], _ make: () throws -> TestWorker) {
    do {
      let worker = try make()
      while let index = takeNext() {
        let result = try worker.run(tests[index])
        progress.withLock { $0.results[index] = result }
      }
      if worker.coverage != nil {
        let report = try worker.covered(sources)
        progress.withLock { $0.coverage.merge(report) }
      }
    } catch {
      progress.withLock { $0.error = $0.error ?? error }
    }
  }

  private func takeNext() -> Int? {
    progress.withLock { progress in
      guard progress.next < tests.count, progress.error == nil else { return nil }
      progress.next += 1
      return progress.next - 1
    }
  }

  func end() throws -> ([TestResult], CoverageReport) {
    try progress.withLock { progress in
      if let error = progress.error { throw error }
      return (progress.results.compactMap(\.self), progress.coverage)
    }
  }
}
