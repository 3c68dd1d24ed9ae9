internal import Glibc
internal import RuledCore

/// Writes to a descriptor, or to memory for a test.
///
/// Texts of others, such as subjects and states, go through `printable` or JSON before; the characters that JSON lets through are escaped here.
///
/// A terminal gets each text at once, anything else blocks of 32 KiB.
package final class Output {
  let isTerminal: Bool
  private let descriptor: Int32?
  private let buffer = ByteBuffer(capacity: 4096)
  /// Why a text could not be written, a number of errno(3); the texts after it are dropped.
  private var failure: Int32?

  package init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  package init(isTerminal: Bool = false) {
    descriptor = nil
    self.isTerminal = isTerminal
  }

  /// The text that was written and not flushed; in memory, all of it.
  package var text: String { buffer.text }

  /// Writes `text`, with characters that steer a terminal escaped as in JSON, but for C0.
  func write(_ text: String) { writeExactly(text.withoutSteering) }

  /// Writes `text` as it is, which must be meant for a file.
  func writeExactly(_ text: String) {
    guard failure == nil else { return }
    buffer.append(contentsOf: text)
    if isTerminal || buffer.count >= 32_768 { flush() }
  }

  /// Writes the buffered text to the descriptor; `finish` tells whether that failed.
  func flush() {
    guard let descriptor else { return }
    while buffer.count > 0 {
      let written = Glibc.write(descriptor, buffer.bytes.baseAddress, buffer.count)
      if written > 0 {
        buffer.removeFirst(written)
      } else if errno == EAGAIN {
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&room, 1, -1)
      } else if errno != EINTR {
        failure = errno
        buffer.removeAll()
      }
    }
  }

  /// Writes the buffered text.
  ///
  /// - Throws: if it, or a text before it, could not be written: a full disk, a pipe that nobody reads.
  func finish() throws(ToolError) {
    flush()
    guard let failure else { return }
    throw ToolError("the output is not whole: it can't be written: \(String(cString: strerror(failure)))")
  }
}
