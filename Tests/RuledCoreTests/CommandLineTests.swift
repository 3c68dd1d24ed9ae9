import RuledCore
import Testing

/// Command lines by the conventions of getopt_long, and the help on them.
struct CommandLineTests {
  private let options = [
    OptionSpec("socket", value: "PATH", "Its path."), OptionSpec("source", value: "SOURCE", ""),
    OptionSpec("data", short: "d", value: "JSON", ""), OptionSpec("verbose", short: "v", ""),
    OptionSpec("quiet", short: "q", ""), OptionSpec("plugins", value: "P", "", repeats: true),
  ]

  private func parse(_ words: String...) throws -> Arguments {
    try ArgumentParser.parse(words[...], options: options)
  }

  private func message(_ words: String...) -> String? {
    do {
      _ = try ArgumentParser.parse(words[...], options: options)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `A value follows a space or an equals sign`() throws {
    #expect(try parse("--socket", "a").value("socket") == "a")
    #expect(try parse("--socket=a=b").value("socket") == "a=b")
    #expect(try parse("--socket", "--verbose").value("socket") == "--verbose")
  }

  @Test func `Short options take values and may share a word`() throws {
    let arguments = try parse("-vqd1", "x")
    #expect(arguments.has("verbose"))
    #expect(arguments.has("quiet"))
    #expect(arguments.value("data") == "1")
    #expect(arguments.operands == ["x"])
    #expect(try parse("-d", "2").value("data") == "2")
  }

  @Test func `Options and operands mix, and two dashes end the options`() throws {
    let arguments = try parse("a", "--verbose", "-", "b", "--", "--quiet", "-x")
    #expect(arguments.operands == ["a", "-", "b", "--quiet", "-x"])
    #expect(arguments.has("verbose"))
    #expect(!arguments.has("quiet"))
  }

  @Test func `An unambiguous beginning of a name will do`() throws {
    #expect(try parse("--verb").has("verbose"))
    #expect(try parse("--soc=x").value("socket") == "x")
    #expect(message("--so=x") == "--so is ambiguous; write --socket or --source")
  }

  @Test func `Errors say what to do`() {
    #expect(message("--sokcet", "x") == "unknown option --sokcet; did you mean --socket?")
    #expect(message("--entirely-else") == "unknown option --entirely-else; --help lists the options")
    #expect(message("-x") == "unknown option -x; a value that begins with '-' goes after --")
    #expect(throws: UsageError("unknown option -x; --help lists the options")) {
      try ArgumentParser.parse(["-x"], options: options, takesOperands: false)
    }
    #expect(message("--socket") == "--socket needs a value: --socket PATH")
    #expect(message("--socket=") == "--socket needs a value that is not empty: --socket PATH")
    #expect(message("--verbose=1") == "--verbose takes no value; leave out '=' and what follows")
    #expect(message("--socket=a", "--socket=b") == "--socket is given twice; give it once")
  }

  @Test func `An option that may repeat has all its values`() throws {
    #expect(try parse("--plugins", "a,b", "--plugins=c").list("plugins") == ["a", "b", "c"])
  }

  @Test func `A number out of range is refused`() throws {
    let arguments = try parse("--socket", "12x")
    #expect(throws: UsageError("--socket takes a whole number from 1 to 9, not '12x'")) {
      try arguments.integer("socket", in: 1...9)
    }
    #expect(try parse("--socket=7").integer("socket", in: 1...9) == 7)
    #expect(try parse().integer("socket", in: 1...9) == nil)
    #expect(throws: UsageError("--socket takes a number from 0.5 to 9, not '12x'")) {
      try arguments.number("socket", in: 0.5...9)
    }
    #expect(try parse("--socket=0.75").number("socket", in: 0.5...9) == 0.75)
  }

  @Test func `The options before the first operand are parsed alone`() throws {
    for words in [["-v", "--socket", "a", "b", "-q"], ["-v", "--socket=a", "--", "b", "-q"]] {
      let (arguments, remaining) = try ArgumentParser.parseLeading(words[...], options: options)
      #expect(arguments.has("verbose"))
      #expect(arguments.value("socket") == "a")
      #expect(remaining == ["b", "-q"])
    }
  }

  private let state = CommandSpec(
    "state", "Shows a state.", synopsis: ["SUBJECT [KEY]"], required: ["SUBJECT"], optional: 1,
    options: [OptionSpec("plugin", short: "p", value: "PLUGIN", "Shows one.")],
    details: "What is not obvious.", examples: [.init("tool state a", "one subject")])

  @Test func `Operands are counted`() throws {
    #expect(throws: UsageError("SUBJECT is missing; write 'tool state SUBJECT [KEY]'")) {
      try state.checkOperands(of: parse(), program: "tool")
    }
    #expect(throws: UsageError("unexpected argument 'c'; write 'state SUBJECT [KEY]'")) {
      try state.checkOperands(of: parse("a", "b", "c"), program: nil)
    }
    try state.checkOperands(of: parse("a", "b"), program: "tool")
  }

  @Test func `Help is made from the specification`() {
    let help = HelpText(program: "tool", sharedOptions: [options[0], .help]) { "*\($0)*" }
    #expect(
      help.command(state) == """
        Shows a state.

        *Usage*
          tool state SUBJECT [KEY]

        What is not obvious.

        *Options*
          -p, --plugin PLUGIN  Shows one.
              --socket PATH    Its path.
          -h, --help           Shows this help.

        *Examples*
          tool state a  one subject

        """)
    #expect(
      help.overview(about: "Tests.", commands: [state], examples: [.init("tool state b", "another")]) == """
        Tests.

        *Usage*
          tool [--socket PATH] COMMAND [ARGUMENT …]

        *Commands*
          state  Shows a state.

        *Options*
              --socket PATH  Its path.
          -h, --help         Shows this help.

        *Examples*
          tool state b  another

        'tool COMMAND --help' says more about a command.

        """)
  }
}
