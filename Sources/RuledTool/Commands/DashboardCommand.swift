internal import Glibc
internal import RuledCore

enum DashboardCommand: Command {
  static let spec = CommandSpec(
    "dashboard", "Opens the dashboard in a browser, and prints its link.",
    synopsis: ["[--port PORT] [--role ROLE] [--no-open]"],
    options: [
      OptionSpec("port", short: "p", value: "PORT", "Serves the page on 127.0.0.1:PORT until Ctrl-C."),
      OptionSpec(
        "role", value: "ROLE", "What the page may do: reader, writer or admin, which is the default.",
        completes: .words(["reader", "writer", "admin"])),
      OptionSpec("no-open", "Prints the link and opens no browser."),
    ],
    details: """
      The link works once, within two minutes, and opens a session of twelve hours. It leads to the daemon's loopback
      listener (http.listen). Where the daemon listens on its socket alone, or with --port, this command serves the page
      on a port of this host until Ctrl-C; over SSH, forward that port.
      """,
    examples: [
      .init("rulectl dashboard", "opens the page"),
      .init("ssh -L 8788:127.0.0.1:8788 host rulectl dashboard --port 8788", "a daemon on another host"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let port = try arguments.integer("port", in: 1...65_535)
    let link = try environment.connect().call(
      "dashboard", .members(["role": arguments.value("role").map(JSONValue.string)]))
    guard let path = link.member("path")?.stringValue else {
      throw ToolError("the daemon gave no link; it is older than this program")
    }
    if port == nil, let address = link.member("listen")?.stringValue {
      show("http://\(address)\(path)", arguments, environment)
      return .done
    }
    let proxy = try DashboardProxy(port: UInt16(port ?? 0), socket: environment.socket)
    show("http://127.0.0.1:\(proxy.port)\(path)", arguments, environment)
    if environment.errors.isTerminal { environment.errors.write("serving the page until Ctrl-C\n") }
    environment.errors.flush()
    try proxy.run()
  }

  private static func show(_ link: String, _ arguments: Arguments, _ environment: ToolEnvironment) {
    environment.output.write(link + "\n")
    environment.output.flush()
    let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment.variables[$0] ?? "").isEmpty }
    guard hasScreen, environment.output.isTerminal, !arguments.has("no-open") else { return }
    open(link)
  }

  /// Starts the desktop's browser; without one, the printed link remains.
  private static func open(_ link: String) {
    var process = pid_t()
    let words = [strdup("xdg-open"), strdup(link)]
    defer { for word in words { free(word) } }
    _ = posix_spawnp(&process, "xdg-open", nil, nil, words + [nil], environ)
  }
}
