internal import RuledReports

/// Writes a test run for people: one line for each plugin, and each failure with the expectation.
struct TestReport {
  /// A test of this many microseconds is called slow.
  private static let slow = 100_000

  let run: TestRun
  let style: Style

  func text(seconds: Double) -> String {
    guard !run.results.isEmpty else { return "" }
    var text = ""
    let plugins = run.plugins
    let width = plugins.map(\.name.count).max() ?? 0
    for (plugin, results) in plugins {
      let failed = results.filter { $0.failure != nil }
      let name = plugin.printable + String(repeating: " ", count: width - plugin.count)
      let passed = "\(Figures.count(results.count - failed.count)) passed"
      text += "\(style.bold(name))  \(failed.isEmpty ? style.green(passed) : passed)"
      text += failed.isEmpty ? "\n" : ", \(style.red("\(Figures.count(failed.count)) failed"))\n"
      for result in failed { text += describe(result) }
    }
    for result in run.results.filter({ $0.microseconds >= Self.slow }).sorted(by: { $0.microseconds > $1.microseconds })
      .prefix(5)
    {
      text += "slow: \(Figures.micros(Double(result.microseconds)))  \(result.plugin) \(result.name)".printable + "\n"
    }
    for result in run.results where !result.hasCompared {
      let warning = "warning: test '\(result.name)' compared nothing, so that only a failing rule can fail it"
      text += "\(result.file):\(result.line): \(warning)".printable + "\n"
    }
    let passed = run.results.count - run.failed
    let totals = "\(Figures.count(passed, "test")) passed, \(Figures.count(run.failed)) failed"
    return text + "\n" + (run.failed > 0 ? style.red(totals) : style.green(totals))
      + " in \(Figures.micros(seconds * 1e6))\n"
  }

  private func describe(_ result: TestResult) -> String {
    guard let failure = result.failure else { return "" }
    let location = "\(failure.file ?? result.file):\(failure.line ?? result.line)"
    var text = "\n  \(style.red("FAIL")) \(result.name.printable)  \(style.dim(location.printable))\n"
    for line in failure.message.split(separator: "\n", omittingEmptySubsequences: false) {
      text += "    \(String(line).printable)\n"
    }
    for line in result.log { text += "    \(style.dim("log " + line.printable))\n" }
    return text
  }
}
