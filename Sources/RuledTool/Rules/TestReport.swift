internal import RuledCore

/// A test run for people: a line a plugin, and each failure with what was expected.
struct TestReport {
  private let run: TestRun
  private let style: Style

  /// A report on a run.
  init(_ run: TestRun, style: Style) {
    self.run = run
    self.style = style
  }

  /// Plugins, failures and the sum.
  func text(seconds: Double) -> String {
    guard !run.results.isEmpty else { return "" }
    var text = ""
    var plugins: [String] = []
    for result in run.results where plugins.last != result.plugin { plugins.append(result.plugin) }
    let width = plugins.map(\.count).max() ?? 0
    for plugin in plugins {
      let results = run.results.filter { $0.plugin == plugin }
      let failed = results.filter { $0.failure != nil }
      let name = plugin.printable + String(repeating: " ", count: width - plugin.count)
      let sum = "\(Figures.count(results.count - failed.count)) passed"
      text += "\(style.bold(name))  \(failed.isEmpty ? style.green(sum) : sum)"
      text += failed.isEmpty ? "\n" : ", \(style.red("\(Figures.count(failed.count)) failed"))\n"
      for result in failed { text += describe(result) }
    }
    let passed = run.results.count - run.failed
    let end = "\(Figures.count(passed, "test")) passed, \(Figures.count(run.failed)) failed"
    return text + "\n" + (run.failed > 0 ? style.red(end) : style.green(end)) + " in \(Figures.micros(seconds * 1e6))\n"
  }

  private func describe(_ result: TestResult) -> String {
    guard let failure = result.failure else { return "" }
    let place = "\(failure.file ?? result.file):\(failure.line ?? result.line)"
    var text = "\n  \(style.red("FAIL")) \(result.name.printable)  \(style.dim(place.printable))\n"
    for line in failure.message.split(separator: "\n", omittingEmptySubsequences: false) {
      text += "    \(String(line).printable)\n"
    }
    return text + "\n"
  }

  /// How much of each file ran.
  var coverage: String {
    var table = Table(["FILE": .left, "LINES": .right, "RAN": .right, "%": .right, "NEVER RAN": .left])
    for file in run.covered {
      table.add([file.path, "\(file.lines)", "\(file.lines - file.missed.count)", "\(file.percent)", file.missedText])
    }
    let lines = run.covered.reduce(0) { $0 + $1.lines }
    let ran = lines - run.covered.reduce(0) { $0 + $1.missed.count }
    table.add(["all", "\(lines)", "\(ran)", "\(CoveredFile.percent(run.covered))", ""])
    return "\n" + table.text(style)
  }
}
