import RuledCore
import Testing

@testable import RuledTool

/// The program around the commands.
struct ToolTests {
  @Test func `Help lists every command and each has help with an example`() {
    let help = Run("--help")
    #expect(help.exit == .done)
    #expect(help.errors.isEmpty)
    let specs = Tool().commands.map { $0.spec }
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
      (Run("sub"), "unknown command 'sub'; did you mean 'subjects'?"),
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
    #expect(Run("completions", "words", "--", "", more: [Hello.self]).output.contains("\nhello\t"))
  }

  @Test func `Colour is for terminals without NO_COLOR alone`() {
    #expect(!Run("--help").output.contains("\u{1B}"))
    #expect(Run("--help", terminal: true).output.contains("\u{1B}[1m"))
    #expect(!Run("--help", terminal: true, variables: ["NO_COLOR": "1"]).output.contains("\u{1B}"))
    #expect(!Run("--help", terminal: true, variables: ["TERM": "dumb"]).output.contains("\u{1B}"))
  }
}

/// Words of the form key=value.
struct KeyValueTests {
  @Test(
    arguments: [
      ("n=3", .integer(3)), ("n=3.0", .number(3)), ("n=true", .bool(true)), ("n=null", .null), ("n=Ada", "Ada"),
      ("n=", ""), ("n=01234", "01234"), ("n=\"01\"", "01"), ("n=a=b", "a=b"), ("n=[1,2]", [1, 2]),
      ("n={\"a\":{}}", ["a": [:]]), ("n=nan", "nan"), ("n={", "{"), ("n=\u{301}x", "\u{301}x"),
    ] as [(String, JSONValue)])
  func `A value is JSON if it parses and a string otherwise`(word: String, value: JSONValue) {
    #expect(KeyValue(word)?.value == value)
    #expect(KeyValue(word)?.key == "n")
  }

  @Test func `A word without a key is none`() {
    #expect(KeyValue("abc") == nil)
    #expect(KeyValue("=abc") == nil)
  }

  @Test func `Words are members of an option's object`() throws {
    let options = [OptionSpec("data", value: "JSON", "")]
    let given = try ArgumentParser.parse(["--data", "{\"a\":1,\"b\":2}"], options: options)
    #expect(try KeyValue.value(of: "data", in: given, with: ["b=3"]) == ["a": 1, "b": 3])
    #expect(try KeyValue.value(of: "data", in: Arguments(), with: ["b=3"]) == ["b": 3])
    #expect(try KeyValue.value(of: "data", in: Arguments()) == nil)
    let array = try ArgumentParser.parse(["--data", "[]"], options: options)
    #expect(try KeyValue.value(of: "data", in: array) == [])
    #expect(throws: UsageError("key=value needs --data to be an object; give one of both")) {
      try KeyValue.value(of: "data", in: array, with: ["b=3"])
    }
  }

  @Test func `A key is given once`() {
    #expect(throws: UsageError("'a' is given twice; give it once")) { try KeyValue.object(["a=1", "a=2"]) }
    #expect(throws: UsageError("'b' is not of the form key=value")) { try KeyValue.object(["a=1", "b"]) }
  }
}

struct CompletionsTests {
  @Test(arguments: ["bash", "zsh", "fish"])
  func `The script of a shell asks the program`(shell: String) {
    let run = Run("completions", shell)
    #expect(run.exit == .done)
    #expect(run.output.contains("rulectl completions words -- "))
  }

  @Test func `Every command is offered, and its options with what they are for`() {
    let names = Run("completions", "words", "--", "").output
    for spec in Tool().commands.map({ $0.spec }) {
      #expect(names.contains("\n\(spec.name)\t\(spec.summary)\n"))
      let options = Run("completions", "words", "--", spec.name, "--").output
      for option in spec.options { #expect(options.contains("\n--\(option.name)\t\(option.summary)\n")) }
    }
  }

  @Test func `Another shell is refused`() {
    #expect(
      Run("completions", "tcsh").errors == "rulectl: there are no completions for 'tcsh'; write bash, zsh or fish\n")
  }

  @Test func `The words of an event come from the plugins' descriptions`() throws {
    let daemon = try FakeDaemon(result: [
      "plugins": [
        ["events": [["type": "paid", "data": ["amount": "integer", "note": "string?"]]]],
        ["events": [["type": "paid", "data": ["who": "string"]], ["type": "left", "data": [:]]]],
      ]
    ])
    defer { daemon.stop() }
    func words(_ given: String...) -> String {
      Run(words: ["completions", "words", "--", "event"] + given + [""], on: daemon).output
    }
    #expect(words() == "words\nleft\npaid\n")
    #expect(words("paid") == "words\n")
    #expect(words("paid", "user:1") == "words\namount=\nnote=\nwho=\n")
    #expect(words("--dry-run", "--id", "x", "paid", "user:1", "note=a") == "words\namount=\nwho=\n")
    #expect(words("gone", "user:1") == "words\n")
  }

  @Test(arguments: [
    (["--socket", ""], "files\n"), (["--socket", "x", "completions", ""], "words\nbash\nzsh\nfish\n"),
    (["--socket=x", "parked", "-g", "--kind=t"], "words\n--kind=error\n"), (["event", "--data", ""], "words\n"),
    (["event", "-f", ""], "files\n"), (["event", "--file=x"], "files\n"), (["new", "--rules", ""], "folders\n"),
    (["health", ""], "words\n"), (["nothing", ""], "words\n"),
  ])
  func `The words before tell what may follow`(words: [String], expected: String) {
    #expect(Run(words: ["completions", "words", "--"] + words).output.hasPrefix(expected))
  }
}
