internal import Glibc
package import RuledCore

/// All that a command reads and writes besides its arguments.
package struct ToolEnvironment {
  /// Where a daemon listens unless it is told otherwise.
  package static let defaultSocket = "/run/ruled/ruled.sock"

  /// Standard input.
  package var input: Input
  /// Standard output.
  package var output: Output
  /// Standard error.
  package var errors: Output
  /// The environment's variables.
  package var variables: [String: String]
  /// The daemon's socket.
  package var socket: String
  /// The name of the program that runs.
  package var program = "rulectl"
  /// The commands of the program that runs.
  package var commands: [CommandSpec] = []

  /// An environment made of these parts; the socket follows from the variables.
  package init(input: Input, output: Output, errors: Output, variables: [String: String]) {
    self.input = input
    self.output = output
    self.errors = errors
    self.variables = variables
    let named = variables["RULED_SOCKET"] ?? ""
    socket = named.isEmpty ? Self.defaultSocket : named
  }

  /// The environment of this process.
  package static func process() -> ToolEnvironment {
    var variables: [String: String] = [:]
    for name in ["RULED_SOCKET", "NO_COLOR", "TERM"] {
      if let value = getenv(name) { variables[name] = String(cString: value) }
    }
    return ToolEnvironment(
      input: Input(descriptor: 0), output: Output(descriptor: 1), errors: Output(descriptor: 2), variables: variables)
  }

  /// How standard output is coloured.
  package var style: Style { style(for: output) }

  /// How `output` is coloured: only on a terminal, and never with `NO_COLOR`.
  package func style(for output: Output) -> Style { Style(isColoured: output.isTerminal && isLively) }

  /// Whether progress is shown on standard error.
  package var showsProgress: Bool { errors.isTerminal && isLively }

  private var isLively: Bool { (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb" }

  /// A connection to the daemon.
  package func connect() throws -> Client { try Client(path: socket) }

  /// Reads a file that an argument names; `-` is standard input.
  package func open(_ path: String) throws(ToolError) -> Input { path == "-" ? input : try Input(path: path) }
}

extension ToolEnvironment {
  /// Prints JSON: laid out on a terminal, on one line elsewhere.
  package func print(json: JSONValue) {
    output.write((output.isTerminal ? json.prettyText() : json.text) + "\n")
  }
}
