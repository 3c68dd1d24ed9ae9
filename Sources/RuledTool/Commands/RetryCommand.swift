internal import RuledCore
internal import RuledReports

enum RetryCommand: Command {
  static let spec = ParkedArguments.spec(
    "retry", "Tries parked events again.", details: "What fails again stays parked, and the exit code is 1.",
    example: .init("rulectl retry --plugin attribution", "after its rules were repaired"))

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("retry", ParkedArguments.params(arguments))
    environment.show(result, arguments) { text($0, environment.style) }
    return result.count("failed") > 0 ? .no : .done
  }

  private static func text(_ result: JSONValue, _ style: Style) -> String {
    let retried = result.count("retried")
    if retried == 0 { return "nothing is parked\n" }
    let (succeeded, failed) = (Figures.count(result.count("succeeded")), Figures.count(result.count("failed")))
    var text = "\(Figures.count(retried)) retried: \(succeeded) succeeded, \(failed) failed\n"
    for item in result.elements("results") {
      guard let failure = item.member("failure") else { continue }
      let id = item.word("id").printable
      text += "  \(id)  \(style.red(ReportedFailure(failure).line.printable))\n"
    }
    return text
  }
}
