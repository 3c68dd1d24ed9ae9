import RuledCore
import RuledIO
import Testing

@testable import RuledDaemon

@Suite struct ServeOptionsTests {
  @Test(arguments: [
    ["--rules", "r", "--store", "memory:", "--socket", "s"], ["--rules=r", "--store=memory:", "--socket=s"],
    ["--ru", "r", "--st", "memory:", "--so=s"], ["-r", "r", "-smemory:", "-Ss", "--"],
  ]) func `an option may be written in every way of getopt`(words: [String]) throws {
    let configuration = try ServeOptions(words).configuration()
    #expect(configuration.rules == "r")
    #expect(configuration.store == .memory)
    #expect(configuration.socket == "s")
  }

  @Test func `flags may stand together`() throws {
    let arguments = try ServeOptions(["-hV", "--chec", "--cl", "manual"]).arguments
    #expect(["help", "version", "check", "clock"].allSatisfy(arguments.has))
  }

  @Test(arguments: [
    ["--c", "x"], ["--s=x"], ["--check=1"], ["--rules"], ["--rules="], ["-x"], ["--nothing"], ["--", "word"], ["word"],
    ["-"], ["--clock", "auto"],
  ]) func `a word that is no option is refused`(words: [String]) {
    #expect(throws: StartError.self) { try ServeOptions(words) }
  }
}
