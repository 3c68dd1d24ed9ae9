internal import Glibc
internal import RuledCore

/// Reads single keys of a terminal, without the Enter key and without showing them; the terminal is as before once this is released.
final class Keyboard {
  private let descriptor: Int32
  private let before: termios

  /// The keyboard of a terminal; nil if the descriptor is none.
  init?(descriptor: Int32) {
    var mode = termios()
    guard tcgetattr(descriptor, &mode) == 0 else { return nil }
    self.descriptor = descriptor
    before = mode
    // Ctrl-C is read as a key too: as a signal it would end the process before the terminal is as it was.
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    tcsetattr(descriptor, TCSANOW, &mode)
  }

  deinit {
    var mode = before
    tcsetattr(descriptor, TCSANOW, &mode)
  }

  /// Waits so many seconds; returns true at once when `q`, Ctrl-C or Ctrl-D is pressed, or the terminal is gone.
  func waitsForEnd(seconds: Int) -> Bool {
    let end = MonotonicClock.milliseconds + seconds * 1000
    while true {
      let left = end - MonotonicClock.milliseconds
      guard left > 0 else { return false }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, Int32(left)) > 0 else { continue }
      var key: UInt8 = 0
      let count = read(descriptor, &key, 1)
      if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { return true }
      if count == 1, [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains(key) { return true }
    }
  }
}
