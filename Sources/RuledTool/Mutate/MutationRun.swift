internal import RuledCore
internal import RuledEngine
internal import RuledLua

struct MutationRun: Sendable {
  /// The mutants, by file and place.
  private(set) var results: [MutantResult] = []
  /// The tests that fail without any change; nothing was tried then.
  private(set) var failing: [TestResult] = []

  /// Tries every mutant of the files whose path contains `files`, or of all for nil.
  ///
  /// `progress` is called with how many mutants are done, and of how many. Throws `ReloadError` for rules or tests that do not load.
  init(
    _ selection: RulesSelection, _ options: TestOptions, files: String?,
    progress: @escaping @Sendable (Int, Int) -> Void
  ) throws {
    let source = try selection.read()
    var measuring = options
    measuring.measuresCoverage = true
    let reach = try TestReach(selection, source, measuring)
    failing = reach.failing
    guard failing.isEmpty else { return }
    let changed = Self.files(source, selection).filter(options.tests).filter { file in
      files.map { file.path.contains($0) } ?? true
    }
    let mutants = changed.flatMap { MutantFinder($0).mutants }
    let work = SharedWork<Mutant, MutantResult>(mutants, report: progress)
    let run = { @Sendable in
      let worker = try TestWorker(selection, source, options)
      let base = worker.catalog
      try work.forEach { reach.attempt($0, base, worker) }
    }
    results = try work.results(jobs: options.jobs, name: "mutant", first: run, further: run)
  }

  /// The modules of the selected plugins; with the library's tests the library, too, or else, with all plugins, the library's modules that they
  /// require.
  private static func files(_ source: RulesSource, _ selection: RulesSelection) -> [SourceFile] {
    let plugins = source.plugins.filter { selection.contains($0.name) }
    var files: [SourceFile] = []
    let library =
      if let tested = plugins.first(where: { $0.name == "lib" }) { tested.library } else if selection.plugins == nil {
        plugins.flatMap { CatalogBuilder.required(by: $0) }
      } else { [SourceFile]() }
    for file in library + plugins.flatMap(\.modules) where !files.contains(file) {
      files.append(file)
    }
    return files.sorted { $0.path < $1.path }
  }

  /// How many mutants were noticed, in per cent with one decimal.
  var percent: Double { CoveredFile.percent(results.count(where: \.isNoticed), of: results.count) }
}

/// Which tests run which parts of the rules, and how long each takes.
private final class TestReach: Sendable {
  /// A test may take so much longer with a change than without, in microseconds.
  private static let extraTime = 300_000

  /// The tests, the quickest first, each with how long it takes, in microseconds of the clock, at least, and the parts that it runs.
  private let cases: [(test: TestCase, time: Int, parts: Set<Int>)]
  /// The tests that fail without a change.
  let failing: [TestResult]
  private let parts: [String: [CoveredPart]]
  /// The parts that run when the plugins load.
  private let loading: Set<Int>

  init(_ selection: RulesSelection, _ source: RulesSource, _ options: TestOptions) throws {
    let worker = try TestWorker(selection, source, options)
    var found: [(test: TestCase, time: Int, parts: Set<Int>)] = []
    var failing: [TestResult] = []
    var loading: Set<Int> = []
    for plugin in source.plugins where selection.contains(plugin.name) {
      let tests = try worker.tests(of: plugin.name)
      loading.formUnion(worker.coverage?.takeRecent() ?? [])
      for test in tests where options.selects(test.declaration, of: plugin.name) {
        _ = worker.coverage?.takeRecent()
        let result = try worker.run(test)
        if result.failure != nil { failing.append(result) }
        found.append((test, result.microseconds, worker.coverage?.takeRecent() ?? []))
      }
    }
    // Quick tests first, by powers of two, so that the order does not depend on small differences.
    cases = found.enumerated().sorted { one, other in
      (Self.magnitude(one.element.time), one.offset) < (Self.magnitude(other.element.time), other.offset)
    }.map(\.element)
    parts = worker.coverage?.parts ?? [:]
    self.failing = failing
    self.loading = loading
  }

  private static func magnitude(_ time: Int) -> Int { Int.bitWidth - (time / 4000).leadingZeroBitCount }

  /// The tests that run a mutant's part: all for a part that runs when a plugin loads.
  private func cases(of mutant: Mutant) -> [(test: TestCase, time: Int, parts: Set<Int>)] {
    guard let parts = parts[mutant.file] else { return [] }
    let around = parts.filter {
      $0.range.lowerBound <= mutant.range.lowerBound && $0.range.upperBound >= mutant.range.upperBound
    }
    guard let inner = around.min(by: { $0.range.count < $1.range.count }), !loading.contains(inner.number) else {
      return cases
    }
    return cases.filter { $0.parts.contains(inner.number) }
  }

  /// Runs the tests against a mutant of `base`.
  func attempt(_ mutant: Mutant, _ base: Catalog, _ worker: TestWorker) -> MutantResult {
    let cases = cases(of: mutant)
    guard !cases.isEmpty else { return MutantResult(mutant: mutant, end: .unreached, test: nil) }
    let plugins = base.source.plugins.map { $0.replacing(mutant.file) { mutant.apply(to: $0) } }
    do throws(ReloadError) {
      worker.adopt(
        try CatalogBuilder.build(
          RulesSource(plugins: plugins), configuration: [:], previous: base, worker: worker.lua, now: base.loadedAt))
    } catch { return MutantResult(mutant: mutant, end: .refused, test: nil) }
    for (test, time, _) in cases {
      let budget = Budget(
        instructions: Budget.test.instructions, memoryBytes: Budget.test.memoryBytes,
        processorTime: min(Int64(time) * 4 + Int64(Self.extraTime), Limits.testTime))
      guard let result = try? worker.run(test, budget: budget) else {
        return MutantResult(mutant: mutant, end: .refused, test: nil)
      }
      guard let failure = result.failure else { continue }
      return MutantResult(mutant: mutant, end: failure.kind == .time ? .endless : .killed, test: result.name)
    }
    return MutantResult(mutant: mutant, end: .survived, test: nil)
  }
}

extension PluginSource {
  /// The plugin with another text of one of its files.
  fileprivate func replacing(_ path: String, _ change: ([UInt8]) -> [UInt8]) -> PluginSource {
    func changed(_ files: [SourceFile]) -> [SourceFile] {
      files.map { $0.path == path ? SourceFile(path: path, text: change($0.text)) : $0 }
    }
    return PluginSource(name: name, modules: changed(modules), data: data, tests: tests, library: changed(library))
  }
}
