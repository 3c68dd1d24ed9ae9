internal import Glibc
internal import RuledCore

/// Where a program writes: a descriptor, or memory for a test.
///
/// What is written to a terminal leaves at once, what is written elsewhere in blocks.
package final class Output {
  /// Whether a person looks at it.
  package let isTerminal: Bool
  private let descriptor: Int32?
  private let buffer = ByteBuffer(capacity: 4096)

  /// Writes to an open descriptor.
  package init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  /// Keeps what is written, for `text`.
  package init(isTerminal: Bool = false) {
    descriptor = nil
    self.isTerminal = isTerminal
  }

  /// What was written and not flushed; in memory, all of it.
  package var text: String { buffer.text }

  /// How many columns a line has: the terminal's, or 80.
  package var columns: Int {
    var size = winsize()
    guard let descriptor, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes `text`.
  package func write(_ text: String) {
    buffer.append(contentsOf: text)
    if isTerminal || buffer.count >= 32_768 { flush() }
  }

  /// Hands on what is held; output that nobody takes any more is dropped.
  package func flush() {
    guard let descriptor else { return }
    while buffer.count > 0 {
      let written = Glibc.write(descriptor, buffer.base, buffer.count)
      if written > 0 {
        buffer.removeFirst(written)
      } else if errno != EINTR {
        buffer.removeAll()
      }
    }
  }
}
