import Glibc
import Testing

@testable import RuledTool

@Suite struct KeyboardTests {
  @Test(arguments: ["q", "Q", "\u{3}", "\u{4}", "xq"]) func `a key ends the wait, and the terminal is as before`(
    _ keys: String
  ) throws {
    let terminal = try PseudoTerminal()
    let before = terminal.mode
    do {
      let keyboard = try #require(Keyboard(descriptor: terminal.program))
      terminal.type(keys)
      #expect(keyboard.waitsForEnd(seconds: 60))
    }
    #expect(before.c_lflag == terminal.mode.c_lflag && before.c_lflag & tcflag_t(ECHO) != 0)
  }

  @Test func `other keys do not end it, and a file is no keyboard`() throws {
    let terminal = try PseudoTerminal()
    let keyboard = try #require(Keyboard(descriptor: terminal.program))
    terminal.type("x")
    #expect(!keyboard.waitsForEnd(seconds: 1))
    let file = open("/dev/null", O_RDONLY)
    defer { close(file) }
    #expect(Keyboard(descriptor: file) == nil)
  }
}
