internal import RuledCore

/// Prints what came of each line of a file of events, as far as that was asked for; refused lines always.
struct EventFileReport {
  private let file: String
  private let environment: ToolEnvironment
  private let shows: Bool
  private let explains: Bool
  private let asJSON: Bool

  /// A report as `arguments` ask for it.
  init(file: String, _ arguments: Arguments, _ environment: ToolEnvironment) {
    self.file = file == "-" ? "standard input" : file
    self.environment = environment
    shows = arguments.has("show")
    explains = arguments.has("explain")
    asJSON = arguments.has("json")
  }

  /// Whether `write` prints anything.
  func isSpoken(_ result: Result<JSONValue, DaemonError>) -> Bool {
    guard case .success = result else { return true }
    return shows || explains || asJSON
  }

  /// Prints the result of a line.
  ///
  /// - Parameters:
  ///   - line: The line's number, from 1.
  ///   - type: The event's type.
  ///   - result: What the daemon answered.
  func write(_ line: Int, _ type: String, _ result: Result<JSONValue, DaemonError>) {
    switch result {
    case .failure(let error):
      environment.errors.write(
        "\(file):\(line): \(error.code): \(error.lines.joined(separator: "; "))".printable + "\n")
      guard asJSON else { return }
      environment.output.write(JSONValue.object(["line": .integer(Int64(line)), "error": error.json]).text + "\n")
    case .success(let outcome) where asJSON:
      environment.output.write(outcome.text + "\n")
    case .success(let outcome):
      let style = environment.style
      if shows || explains {
        let subject = outcome.member("subject")?.brief ?? "?"
        let what = OutcomeText(outcome, style: style).line
        environment.output.write(
          style.dim("\(line)") + "  \(type.printable)  \(subject.printable)  \(what.isEmpty ? style.dim("-") : what)\n")
      }
      if explains { environment.output.write(TraceTree(outcome, style: style).text(type: type)) }
    }
  }
}
