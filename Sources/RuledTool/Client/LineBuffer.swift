internal import Glibc
internal import RuledCore

/// Bytes that arrive in parts and are taken line by line.
final class LineBuffer {
  private let buffer = ByteBuffer(capacity: 65_536)
  /// The offset of the first line that was not taken.
  private var start = 0
  /// The offset up to which there is no further line end.
  private var searched = 0

  init(_ text: String = "") { buffer.append(contentsOf: text) }

  var hasLine: Bool { lineEnd() != nil }

  /// The next whole line without its `\n`, which stays where it is until more is read; nil if there is none.
  func next() -> ByteView? { lineEnd().map { take(upTo: $0, then: 1) } }

  /// All that was not taken.
  func rest() -> ByteView { take(upTo: buffer.count, then: 0) }

  /// Reads as `ByteBuffer.read(from:)` does.
  func read(from descriptor: Int32) -> Int {
    buffer.removeFirst(start)
    searched -= start
    start = 0
    return buffer.read(from: descriptor)
  }

  private func lineEnd() -> Int? {
    let end = buffer.firstIndex(of: UInt8(ascii: "\n"), from: searched)
    searched = end ?? buffer.count
    return end
  }

  private func take(upTo end: Int, then skipped: Int) -> ByteView {
    defer { (start, searched) = (end + skipped, end + skipped) }
    return buffer.bytes.extracting(start..<end)
  }
}

extension ByteBuffer {
  /// Appends up to 64 KiB from a file or a socket, and returns how many bytes: read(2).
  func read(from descriptor: Int32) -> Int {
    append(upTo: 65_536) { span in
      span.withUnsafeMutableBytes { memory, count in
        let length = Glibc.read(descriptor, memory.baseAddress, memory.count)
        count = max(length, 0)
        return length
      }
    }
  }

  /// Sends and removes as much as a socket accepts; false if it accepts nothing any more.
  func send(to descriptor: Int32) -> Bool {
    while count > 0 {
      let sent = Glibc.send(descriptor, bytes.baseAddress, count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if sent > 0 {
        removeFirst(sent)
      } else if errno == EAGAIN {
        return true
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }
}
