import Glibc
import Testing

@testable import RuledTool

@Suite struct KeyboardTests {
  /// The requests TIOCSPTLCK and TIOCGPTN, whose macros Swift does not import.
  private static let unlock = 0x4004_5431
  private static let getNumber = 0x8004_5430

  /// A terminal: what is written to `person` was typed on `program`.
  private static func terminal() throws -> (person: Int32, program: Int32) {
    let person = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    var lock: Int32 = 0
    var number: UInt32 = 0
    try #require(ioctl(person, UInt(Self.unlock), &lock) == 0 && ioctl(person, UInt(Self.getNumber), &number) == 0)
    let name = "/dev/pts/\(number)"
    return (person, open(name, O_RDWR | O_NOCTTY))
  }

  @Test(arguments: ["q", "Q", "\u{3}", "\u{4}", "xq"]) func `a key ends the wait, and the terminal is as before`(
    _ keys: String
  ) throws {
    let terminal = try Self.terminal()
    defer {
      close(terminal.person)
      close(terminal.program)
    }
    var before = termios()
    tcgetattr(terminal.program, &before)
    do {
      let keyboard = try #require(Keyboard(descriptor: terminal.program))
      _ = write(terminal.person, keys, keys.utf8.count)
      #expect(keyboard.waitsForEnd(seconds: 60))
    }
    var after = termios()
    tcgetattr(terminal.program, &after)
    #expect(before.c_lflag == after.c_lflag && before.c_lflag & tcflag_t(ECHO) != 0)
  }

  @Test func `other keys do not end it, and a file is no keyboard`() throws {
    let terminal = try Self.terminal()
    defer {
      close(terminal.person)
      close(terminal.program)
    }
    let keyboard = try #require(Keyboard(descriptor: terminal.program))
    _ = write(terminal.person, "x", 1)
    #expect(!keyboard.waitsForEnd(seconds: 1))
    let file = open("/dev/null", O_RDONLY)
    defer { close(file) }
    #expect(Keyboard(descriptor: file) == nil)
  }
}
