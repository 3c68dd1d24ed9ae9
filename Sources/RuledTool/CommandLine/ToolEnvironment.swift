internal import Glibc
package import RuledCore
import RuledReports

/// The inputs and outputs of a command besides its arguments.
package struct ToolEnvironment {
  static let program = "rulectl"

  /// The daemon's socket unless an option or a variable names another one.
  static let defaultSocket = "/run/ruled/ruled.sock"

  /// How many processors there are.
  static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  var input: Input
  var output: Output
  var errors: Output
  var variables: [String: String]
  var socket: String
  var commands: [CommandSpec] = []

  /// An environment; the socket is the one that the variable `RULED_SOCKET` names, or the default.
  package init(input: Input, output: Output, errors: Output, variables: [String: String]) {
    self.input = input
    self.output = output
    self.errors = errors
    self.variables = variables
    let named = variables["RULED_SOCKET"] ?? ""
    socket = named.isEmpty ? Self.defaultSocket : named
  }

  package static func process() -> ToolEnvironment {
    var variables: [String: String] = [:]
    for name in ["RULED_SOCKET", "HOME", "XDG_STATE_HOME", "NO_COLOR", "TERM", "DISPLAY", "WAYLAND_DISPLAY"] {
      if let value = getenv(name) { variables[name] = String(cString: value) }
    }
    return ToolEnvironment(
      input: Input(descriptor: 0), output: Output(descriptor: 1), errors: Output(descriptor: 2), variables: variables)
  }

  /// The style of standard output: coloured on a terminal, unless `NO_COLOR` is set or the terminal is dumb.
  var style: Style { Style(isColoured: output.isTerminal && allowsEscapes) }

  /// Whether progress is shown on standard error: as for `style`.
  var showsProgress: Bool { errors.isTerminal && allowsEscapes }

  private var allowsEscapes: Bool { (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb" }

  func connect() throws -> Client { try Client(path: socket) }

  /// Opens a file that an argument names; `-` is standard input.
  func open(_ path: String) throws(ToolError) -> Input { path == "-" ? input : try Input(path: path) }

  /// Prints an answer of the daemon: with `--json` as it is, otherwise as `text` puts it.
  ///
  /// Returns the code of a command that is done thereby.
  @discardableResult
  func show(_ answer: JSONValue, _ arguments: Arguments, as text: (JSONValue) -> String) -> ExitCode {
    if arguments.has("json") { print(json: answer) } else { output.write(text(answer)) }
    return .done
  }

  /// Calls a method of the daemon, and prints its answer as `show` does; a daemon is found before `params` are.
  func answer(
    _ method: String, _ params: @autoclosure () throws -> JSONValue, _ arguments: Arguments,
    as text: (JSONValue) -> String
  ) throws -> ExitCode {
    let client = try connect()
    return show(try client.call(method, params()), arguments, as: text)
  }

  /// Prints an error that ends a command, a line for each problem, and returns the exit code.
  @discardableResult
  func report(_ error: any Error) -> ExitCode {
    let report = ErrorReport(error)
    for line in report.lines { errors.write("\(Self.program): \(line.printable)\n") }
    return report.exit
  }

  /// Asks a person on a terminal whether to do an irreversible thing; true without a terminal, or with `--yes`.
  ///
  /// Says that `nothing` was done after any other answer than yes.
  func confirms(_ question: String, _ arguments: Arguments, or nothing: String) throws(ToolError) -> Bool {
    guard !arguments.has("yes"), input.isTerminal else { return true }
    errors.write("\(question.printable) [y/N] ")
    errors.flush()
    let answer = try input.nextLine().map { String(decoding: $0, as: UTF8.self).lowercased() }
    if answer == "y" || answer == "yes" { return true }
    errors.write("\(nothing)\n")
    return false
  }

  /// Prints JSON: indented on a terminal, on one line elsewhere.
  package func print(json: JSONValue) {
    output.write((output.isTerminal ? json.prettyText() : json.text) + "\n")
  }
}
