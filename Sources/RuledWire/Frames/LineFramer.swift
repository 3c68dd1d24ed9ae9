import Glibc
package import RuledCore

/// Splits received bytes into `\n`-ended lines in place, each byte looked at once however the bytes arrive.
///
/// The caller owns the buffer: it calls `prepare`, reads behind the buffer's `count`, advances it, and takes frames until
/// there are none. Lines point into the buffer and hold until the next `prepare`. Blank lines are passed over.
package struct LineFramer {
  /// How many bytes behind a line are readable, as the parser needs them.
  package static let padding = 64

  /// The longest line, without its newline.
  private let limit: Int
  /// Where the current line begins in the buffer.
  private var start = 0
  /// Up to where the current line is known to have no newline.
  private var scanned = 0
  /// Whether the current line is over the limit and told so.
  private var isSkipping = false

  /// A framer for lines of at most `limit` bytes.
  package init(limit: Int = Limits.requestBytes) { self.limit = limit }

  /// How many received bytes are not framed yet.
  package func pending(in buffer: ByteBuffer) -> Int { buffer.count - start }

  /// Makes room to receive `room` bytes and drops what was framed; lines handed out before become invalid.
  package mutating func prepare(_ buffer: ByteBuffer, room: Int) {
    if start == buffer.count {
      buffer.removeAll()
      (start, scanned) = (0, 0)
    } else if start > buffer.count - start {
      buffer.removeFirst(start)
      scanned -= start
      start = 0
    }
    buffer.reserve(room + Self.padding)
  }

  /// The next line, or nil when more has to be received.
  package mutating func next(in buffer: ByteBuffer) -> Frame? {
    while scanned < buffer.count {
      guard let found = memchr(buffer.base + scanned, 0x0A, buffer.count - scanned) else {
        scanned = buffer.count
        return skipIfTooLarge(buffer)
      }
      let newline = UnsafeRawPointer(buffer.base).distance(to: UnsafeRawPointer(found))
      let line = start..<newline
      let wasSkipping = isSkipping
      (start, scanned, isSkipping) = (newline + 1, newline + 1, false)
      if wasSkipping { continue }
      if line.count > limit { return .tooLarge }
      if let frame = frame(line, of: buffer) { return frame }
    }
    return nil
  }

  /// The line that the end of the input ends, or nil if there is none; to be called once `next` has yielded nil.
  package mutating func finish(in buffer: ByteBuffer) -> Frame? {
    let line = start..<buffer.count
    (start, scanned) = (buffer.count, buffer.count)
    guard !isSkipping else { return nil }
    if buffer.capacity - buffer.count < Self.padding { buffer.reserve(Self.padding) }
    return frame(line, of: buffer)
  }

  /// Lets go of the bytes of a line that has become too long.
  private mutating func skipIfTooLarge(_ buffer: ByteBuffer) -> Frame? {
    guard isSkipping || buffer.count - start > limit else { return nil }
    start = buffer.count
    if isSkipping { return nil }
    isSkipping = true
    return .tooLarge
  }

  private func frame(_ line: Range<Int>, of buffer: ByteBuffer) -> Frame? {
    let bytes = UnsafeRawBufferPointer(start: buffer.base + line.lowerBound, count: line.count)
    guard bytes.contains(where: { !Self.isBlank($0) }) else { return nil }
    return .line(bytes, readable: buffer.capacity - line.lowerBound)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}
