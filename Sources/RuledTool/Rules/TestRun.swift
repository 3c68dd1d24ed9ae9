internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// A run of plugins' tests: their results and the coverage.
struct TestRun {
  /// The tests in the order in which they ran.
  private(set) var results: [TestResult] = []
  /// The files of the rules, if coverage was measured.
  private(set) var covered: [CoveredFile] = []

  /// Runs the tests of the selected plugins.
  ///
  /// - Parameters:
  ///   - selection: The plugins.
  ///   - filter: A pattern that the test's name, its plugin or its file has to contain.
  ///   - measuresCoverage: Whether to measure which lines run.
  /// - Throws: `ReloadError` for rules or tests that do not load.
  init(_ selection: RulesSelection, filter: String?, measuresCoverage: Bool) throws {
    let worker = LuaWorker()
    let coverage = measuresCoverage ? Coverage() : nil
    let catalog = try selection.load(worker: worker)
    let chosen = catalog.plugins.filter { selection.contains($0.name) }
    var vms: [PluginVM] = []
    var errors: [LoadError] = []
    for plugin in chosen {
      do throws(LoadError) {
        vms.append(try PluginVM(source: plugin.source, worker: worker, tests: true, covering: coverage))
      } catch { errors.append(error) }
    }
    guard errors.isEmpty else { throw ReloadError(errors) }
    try run(&vms, TestDriver(catalog, worker: worker, coverage: coverage), worker, filter, coverage)
    if let coverage { try measure(chosen.map(\.source), worker, &vms, coverage) }
  }

  /// How many tests failed.
  var failed: Int { results.count { $0.failure != nil } }

  private mutating func run(
    _ vms: inout [PluginVM], _ driver: TestDriver, _ worker: LuaWorker, _ filter: String?, _ coverage: Coverage?
  ) throws {
    for position in vms.indices {
      let plugin = vms[position].source.name
      for (index, test) in vms[position].manifest.tests.enumerated() {
        guard Self.matches(filter, [test.name, plugin, test.file]) else { continue }
        if vms[position].isDead {
          vms[position] = try PluginVM(source: vms[position].source, worker: worker, tests: true, covering: coverage)
        }
        let vm = vms[position]
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

  /// Sums up which lines ran.
  ///
  /// A VM adds its lines to `coverage` when it is released, so all are released first.
  private mutating func measure(
    _ sources: [PluginSource], _ worker: LuaWorker, _ vms: inout [PluginVM], _ coverage: Coverage
  ) throws {
    vms.removeAll()
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

/// The result of one test.
struct TestResult {
  /// The plugin that it belongs to.
  let plugin: String
  /// The test's name.
  let name: String
  /// The file that declares it, relative to the rules folder.
  let file: String
  /// The line at which it is declared.
  let line: Int
  /// How long it took, in microseconds.
  let microseconds: Int
  /// Why it failed; nil when it passed.
  let failure: Failure?

  /// The result as JSON.
  var json: JSONValue {
    var object: JSONObject = [
      "plugin": .string(plugin), "name": .string(name), "file": .string(file), "line": .integer(Int64(line)),
      "passed": .bool(failure == nil), "microseconds": .integer(Int64(microseconds)),
    ]
    if let failure {
      object["failure"] = [
        "message": .string(failure.message), "file": .string(failure.file ?? file),
        "line": .integer(Int64(failure.line ?? line)),
      ]
    }
    return .object(object)
  }
}

/// A file of the rules, and which of its lines the tests ran.
struct CoveredFile {
  /// The file, relative to the rules folder.
  let path: String
  /// How many lines hold code.
  let lines: Int
  /// Those that never ran, in order.
  let missed: [Int]

  /// How much of the file ran, in per cent with one decimal.
  var percent: Double { Self.percent(lines - missed.count, of: lines) }

  /// `part` of `whole` in per cent with one decimal, rounded down; 100 when `whole` is 0.
  static func percent(_ part: Int, of whole: Int) -> Double {
    whole == 0 ? 100 : Double(part * 1000 / whole) / 10
  }

  /// How much of all files ran.
  static func percent(_ files: [CoveredFile]) -> Double {
    let lines = files.reduce(0) { $0 + $1.lines }
    return percent(lines - files.reduce(0) { $0 + $1.missed.count }, of: lines)
  }

  /// The missed lines as ranges: `12-14, 20`.
  var missedText: String {
    var ranges: [ClosedRange<Int>] = []
    for line in missed {
      if let last = ranges.last, last.upperBound + 1 == line {
        ranges[ranges.count - 1] = last.lowerBound...line
      } else {
        ranges.append(line...line)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(
      separator: ", ")
  }

  /// The file as JSON.
  var json: JSONValue {
    [
      "file": .string(path), "lines": .integer(Int64(lines)), "ran": .integer(Int64(lines - missed.count)),
      "percent": .number(percent), "missed": .array(missed.map { .integer(Int64($0)) }),
    ]
  }
}
