import RuledTool
import Testing

/// The conventions of getopt_long.
struct ArgumentParserTests {
  private let options = [
    OptionSpec("socket", value: "PATH", ""), OptionSpec("source", value: "SOURCE", ""),
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

  @Test func `A value stands behind a space or an equals sign`() throws {
    #expect(try parse("--socket", "a").value("socket") == "a")
    #expect(try parse("--socket=a=b").value("socket") == "a=b")
    #expect(try parse("--socket", "--verbose").value("socket") == "--verbose")
  }

  @Test func `Short options take values and stand together`() throws {
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
    #expect(message("--entirely-else") == "unknown option --entirely-else")
    #expect(message("-x") == "unknown option -x; a value that begins with '-' goes after --")
    #expect(message("--socket") == "--socket needs a value: --socket PATH")
    #expect(message("--socket=") == "--socket needs a value that is not empty: --socket PATH")
    #expect(message("--verbose=1") == "--verbose takes no value; leave out '=' and what follows")
    #expect(message("--socket=a", "--socket=b") == "--socket is given twice; give it once")
  }

  @Test func `An option that repeats gathers its values`() throws {
    #expect(try parse("--plugins", "a,b", "--plugins=c").list("plugins") == ["a", "b", "c"])
  }

  @Test func `A number out of range is refused`() throws {
    let arguments = try parse("--socket", "12x")
    #expect(throws: ToolError("--socket takes a whole number from 1 to 9, not '12x'")) {
      try arguments.integer("socket", in: 1...9)
    }
    #expect(try parse("--socket=7").integer("socket", in: 1...9) == 7)
    #expect(try parse().integer("socket", in: 1...9) == nil)
  }
}
