internal import Glibc
internal import RuledCore
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

struct TestOptions: Sendable {
  var root: String
  /// A pattern that the test's name, its plugin or its file has to contain; nil for all.
  var filter: String?
  var measuresCoverage = false
  var updatesSnapshots = false
  /// The seed of properties.
  var seed: UInt32 = 1
  var jobs = 1

  /// Whether the tests are for a file: not for rules that only tests have, nor for the installed library.
  func tests(_ file: SourceFile) -> Bool {
    !file.path.hasPrefix("lib/tests/") && access("\(root)/\(file.path)", F_OK) == 0
  }

  func selects(_ test: PluginManifest.Handler, of plugin: String) -> Bool {
    guard let filter else { return true }
    let pattern = GlobPattern("*\(filter.lowercased())*")
    return [test.name, plugin, test.file].contains { pattern.matches($0.lowercased()) }
  }
}

struct TestResult: Sendable {
  let plugin: String
  let name: String
  /// The file that declares it, relative to the rules folder.
  let file: String
  let line: Int
  let microseconds: Int
  let failure: Failure?
  /// Whether it called what could fail it, or failed.
  let hasCompared: Bool
  let log: [String]

  var json: JSONValue {
    var object: JSONObject = [
      "plugin": .string(plugin), "name": .string(name), "file": .string(file), "line": .integer(Int64(line)),
      "passed": .bool(failure == nil), "microseconds": .integer(Int64(microseconds)),
    ]
    if !hasCompared { object["compared"] = false }
    if let failure {
      object["failure"] = [
        "message": .string(failure.message), "file": .string(failure.file ?? file),
        "line": .integer(Int64(failure.line ?? line)),
      ]
      if !log.isEmpty { object["log"] = .array(log.map { .string($0) }) }
    }
    return .object(object)
  }
}
