import Glibc
import Testing

/// A terminal with a person at one end and a program at the other.
final class PseudoTerminal {
  /// The requests TIOCSPTLCK and TIOCGPTN, whose macros Swift does not import.
  private static let unlock = 0x4004_5431
  private static let getNumber = 0x8004_5430

  /// What is written here was typed.
  private let person: Int32
  /// The program's standard input and output.
  let program: Int32

  init() throws {
    person = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    var lock: Int32 = 0
    var number: UInt32 = 0
    try #require(ioctl(person, UInt(Self.unlock), &lock) == 0 && ioctl(person, UInt(Self.getNumber), &number) == 0)
    program = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
  }

  deinit {
    close(person)
    close(program)
  }

  /// How the terminal treats what is typed.
  var mode: termios {
    get {
      var mode = termios()
      tcgetattr(program, &mode)
      return mode
    }
    set {
      var mode = newValue
      tcsetattr(program, TCSANOW, &mode)
    }
  }

  /// The number of typed bytes that wait for the program; the kernel brings them a moment after they were typed.
  var waiting: Int {
    var count: Int32 = 0
    return ioctl(program, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
  }

  /// Types keys.
  func type(_ keys: String) { _ = write(person, keys, keys.utf8.count) }
}
