/// Writes a test run as JUnit's XML, which CI systems read.
enum JUnitReport {
  static func text(_ run: TestRun, seconds: Double) -> String {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    text += "<testsuites tests=\"\(run.results.count)\" failures=\"\(run.failed)\" time=\"\(seconds)\">\n"
    for (plugin, results) in run.plugins {
      let failed = results.count { $0.failure != nil }
      let time = Double(results.reduce(0) { $0 + $1.microseconds }) / 1e6
      text +=
        "  <testsuite name=\(quoted(plugin)) tests=\"\(results.count)\" failures=\"\(failed)\" time=\"\(time)\">\n"
      for result in results { text += testCase(result) }
      text += "  </testsuite>\n"
    }
    return text + "</testsuites>\n"
  }

  private static func testCase(_ result: TestResult) -> String {
    var text =
      "    <testcase classname=\(quoted(result.plugin)) name=\(quoted(result.name)) file=\(quoted(result.file))"
    text += " line=\"\(result.line)\" time=\"\(Double(result.microseconds) / 1e6)\""
    guard let failure = result.failure else { return text + "/>\n" }
    let location = "\(failure.file ?? result.file):\(failure.line ?? result.line)"
    let first = failure.message.split(separator: "\n").first.map(String.init) ?? ""
    text +=
      ">\n      <failure message=\(quoted(first))>\("\(location)\n\(failure.message)".escapedForMarkup)</failure>\n"
    if !result.log.isEmpty {
      text += "      <system-out>\(result.log.joined(separator: "\n").escapedForMarkup)</system-out>\n"
    }
    return text + "    </testcase>\n"
  }

  private static func quoted(_ text: String) -> String { "\"\(text.escapedForMarkup)\"" }
}
