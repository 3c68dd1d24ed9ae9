import RuledTool
import Testing

/// The program around the commands.
struct ToolTests {
  @Test func `Help lists every command and each has help with an example`() {
    let help = Run("--help")
    #expect(help.exit == .done)
    #expect(help.errors.isEmpty)
    let specs = CommandTable.tool(version: "").commands.map { $0.spec }
    for spec in specs {
      #expect(help.output.contains("  \(spec.name) "))
      let own = Run(spec.name, "--help")
      #expect(own.exit == .done)
      #expect(own.output.contains("rulectl \(spec.name)"))
      #expect(own.output.contains("--socket PATH"))
      #expect(!spec.examples.isEmpty)
      #expect(Run("help", spec.name).output == own.output)
      #expect(Run(spec.name, "-h").output == own.output)
    }
    #expect(Set(specs.map(\.name)).count == specs.count)
  }

  @Test func `Version is one line`() {
    #expect(Run("--version").output == "rulectl 1.2.3\n")
    #expect(Run("health", "-V").output == "rulectl 1.2.3\n")
  }

  @Test func `Wrong use is one line on standard error and code two`() {
    let expected = [
      (Run(), "no command is given; 'rulectl --help' lists them"),
      (Run("evnt"), "unknown command 'evnt'; did you mean 'event'?"),
      (Run("bananas"), "unknown command 'bananas'; 'rulectl --help' lists them"),
      (Run("--sokcet", "x", "health"), "unknown option --sokcet; did you mean --socket?"),
      (Run("health", "--sokcet", "x"), "unknown option --sokcet; did you mean --socket?"),
      (Run("--json", "rules"), "--json belongs to a command; write it after the command's name"),
      (Run("forget"), "SUBJECT is missing; write 'rulectl forget SUBJECT'"),
      (Run("forget", "a", "b"), "unexpected argument 'b'; write 'rulectl forget SUBJECT'"),
    ]
    for (run, message) in expected {
      #expect(run.exit == .failed)
      #expect(run.output.isEmpty)
      #expect(run.errors == "rulectl: \(message)\n")
    }
  }

  @Test func `The socket may be named anywhere and before the variable`() throws {
    let daemon = try FakeDaemon(result: ["status": "ready"])
    defer { daemon.stop() }
    #expect(Run("--socket", daemon.path, "health").exit == .done)
    #expect(Run("health", "--socket=\(daemon.path)", variables: ["RULED_SOCKET": "/nowhere"]).exit == .done)
    #expect(Run("health", on: daemon).exit == .done)
  }

  @Test func `A command can be added`() {
    enum Hello: Command {
      static let spec = CommandSpec("hello", "Greets.")
      static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
        environment.output.write("hello\n")
        return .no
      }
    }
    let run = Run("hello", more: [Hello.self])
    #expect(run.output == "hello\n")
    #expect(run.exit == .no)
    #expect(Run("--help", more: [Hello.self]).output.contains("Greets."))
    #expect(Run("completions", "fish", more: [Hello.self]).output.contains("-a hello"))
  }

  @Test func `Colour is for terminals without NO_COLOR alone`() {
    #expect(!Run("--help").output.contains("\u{1B}"))
    #expect(Run("--help", terminal: true).output.contains("\u{1B}[1m"))
    #expect(!Run("--help", terminal: true, variables: ["NO_COLOR": "1"]).output.contains("\u{1B}"))
    #expect(!Run("--help", terminal: true, variables: ["TERM": "dumb"]).output.contains("\u{1B}"))
  }
}
