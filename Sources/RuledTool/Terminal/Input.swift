internal import Glibc
internal import RuledCore

/// Where a program reads, line by line or whole: a file, a descriptor, or memory for a test.
package final class Input {
  /// How many bytes there are in all, when that is known.
  package let size: Int?
  /// How many bytes of lines were taken so far.
  package private(set) var consumed = 0
  private let descriptor: Int32?
  private let closes: Bool
  private let buffer = ByteBuffer(capacity: 65_536)
  private var start = 0
  private var searched = 0
  private var ended = false

  /// Reads an open descriptor.
  package init(descriptor: Int32, closes: Bool = false) {
    self.descriptor = descriptor
    self.closes = closes
    var status = stat()
    size = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// Reads `text`.
  package init(text: String) {
    descriptor = nil
    closes = false
    buffer.append(contentsOf: text)
    size = buffer.count
    ended = true
  }

  /// Reads a file.
  package convenience init(path: String) throws(ToolError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ToolError("cannot read '\(path)': \(String(cString: strerror(errno)))") }
    self.init(descriptor: descriptor, closes: true)
  }

  deinit { if let descriptor, closes { close(descriptor) } }

  /// Whether `nextLine` answers without waiting for whoever writes.
  package var isReady: Bool {
    guard let descriptor, !ended, newline() == nil else { return true }
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) != 0
  }

  /// The next line without its end, or nil when there is none; a last line without `\n` counts.
  package func nextLine() throws(ToolError) -> [UInt8]? {
    while true {
      if let end = newline() {
        let line = Array(buffer.bytes[start..<end])
        consumed += end + 1 - start
        start = end + 1
        searched = start
        return line
      }
      if ended {
        guard start < buffer.count else { return nil }
        let line = Array(buffer.bytes[start..<buffer.count])
        consumed += buffer.count - start
        start = buffer.count
        return line
      }
      try fill()
    }
  }

  /// All that is left.
  package func rest() throws(ToolError) -> [UInt8] {
    while !ended { try fill() }
    defer { start = buffer.count }
    return Array(buffer.bytes[start..<buffer.count])
  }

  private func newline() -> Int? {
    guard searched < buffer.count else { return nil }
    guard let found = memchr(buffer.base + searched, 10, buffer.count - searched) else {
      searched = buffer.count
      return nil
    }
    return UnsafeRawPointer(found) - UnsafeRawPointer(buffer.base)
  }

  private func fill() throws(ToolError) {
    guard let descriptor else { return }
    buffer.removeFirst(start)
    searched -= start
    start = 0
    buffer.reserve(65_536)
    let count = read(descriptor, buffer.base + buffer.count, 65_536)
    if count > 0 {
      buffer.advance(count)
    } else if count == 0 {
      ended = true
    } else if errno != EINTR {
      throw ToolError("cannot read: \(String(cString: strerror(errno)))")
    }
  }
}
