internal import RuledCore

/// `rulectl retry`: tries parked events again.
package enum RetryCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "retry", "Tries parked events again.",
    synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: ParkedTarget.options + [.json],
    details: "The exit code is 1 when one of them failed again; it stays parked.",
    examples: [.init("rulectl retry --plugin attribution", "after its rules were mended")])

  /// Tries them and says what came of each that failed.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("retry", ParkedTarget.params(arguments))
    let failed = Int(result.member("failed")?.intValue ?? 0)
    if arguments.has("json") {
      environment.print(json: result)
      return failed > 0 ? .no : .done
    }
    let retried = Int(result.member("retried")?.intValue ?? 0)
    let succeeded = Int(result.member("succeeded")?.intValue ?? 0)
    environment.output.write(
      retried == 0
        ? "nothing is parked\n"
        : "\(Figures.count(retried)) retried: \(Figures.count(succeeded)) succeeded, \(Figures.count(failed)) failed\n")
    for item in result.member("results")?.arrayValue ?? [] {
      guard let failure = item.member("failure") else { continue }
      environment.output.write(
        "  \((item.member("id")?.brief ?? "?").printable)  "
          + environment.style.red(ReportedFailure(failure).line.printable) + "\n")
    }
    return failed > 0 ? .no : .done
  }
}
