package import RuledCore

/// Reads HTTP/1.1 requests out of a stream of bytes, one after the other.
///
/// What it finds depends on the bytes alone, never on how they were cut when they arrived. After a fault nothing behind it can be told apart any
/// more, and the reader is done.
package final class HTTPRequestReader {
  /// How far the reader came.
  package enum Step: Equatable {
    /// All bytes are taken, and the request goes on.
    case more
    /// The head is whole, the body is still to come.
    case head
    /// The request is whole; nothing behind it was taken.
    case whole
  }

  private enum State {
    case requestLine, fields, body, chunkSize, chunk, chunkEnd, trailer, over
  }

  /// The longest request line.
  package static let requestLineBytes = 16 << 10
  /// The most bytes that a head has, and those of a trailer.
  package static let headBytes = 64 << 10
  /// The longest line with a chunk's size and extensions.
  package static let chunkLineBytes = 256
  /// A body over the limit is read on up to so many times the limit, so that the connection can go on.
  package static let skippedBodies = 16

  /// The request's head; whole from `.head` on.
  package private(set) var head = HTTPRequestHead()
  /// The request's body, decoded.
  package private(set) var body = ByteBuffer(capacity: 16)
  /// Whether the body has more bytes than the limit; it is dropped.
  package private(set) var isTooLarge = false

  private let limit: Int
  private var state = State.requestLine
  private var line = ByteBuffer(capacity: 128)
  private var hasReturn = false
  private var passedEmptyLine = false
  private var headCount = 0
  private var trailerCount = 0
  private var trailerFields = 0
  private var left = 0
  private var bodyCount = 0

  /// A reader of requests whose bodies have at most `bodyLimit` bytes.
  package init(bodyLimit: Int) { limit = bodyLimit }

  /// Whether part of a request has come.
  package var isWithinRequest: Bool { state != .requestLine || line.count > 0 || hasReturn || passedEmptyLine }

  /// How many bytes of memory the request takes.
  package var heldBytes: Int { headCount + line.capacity + body.capacity }

  /// Forgets the request, for the next one; `body` is then another buffer.
  package func reset() {
    head = HTTPRequestHead()
    body = ByteBuffer(capacity: 16)
    if line.capacity > 1024 { line = ByteBuffer(capacity: 128) }
    line.removeAll()
    isTooLarge = false
    state = .requestLine
    hasReturn = false
    passedEmptyLine = false
    headCount = 0
    trailerCount = 0
    trailerFields = 0
    left = 0
    bodyCount = 0
  }

  /// Takes bytes of `input` from `place` on, up to the next thing to tell.
  package func read(_ input: UnsafeRawBufferPointer, at place: inout Int) throws(HTTPFault) -> Step {
    while true {
      switch state {
      case .requestLine:
        guard try takeLine(input, &place) else { return .more }
        if line.count == 0, !passedEmptyLine {
          passedEmptyLine = true  // one empty line in front of a request is to be passed over
          continue
        }
        try head.takeRequestLine(line.bytes)
        line.removeAll()
        state = .fields
      case .fields:
        guard try takeLine(input, &place) else { return .more }
        guard line.count == 0 else {
          try head.takeField(line.bytes)
          line.removeAll()
          continue
        }
        try beginBody()
        return .head
      case .body, .chunk:
        let count = min(left, input.count - place)
        try take(UnsafeRawBufferPointer(rebasing: input[place..<place + count]))
        place += count
        left -= count
        guard left == 0 else { return .more }
        state = state == .body ? .over : .chunkEnd
      case .chunkSize:
        guard try takeLine(input, &place) else { return .more }
        left = try Self.chunkSize(line.bytes)
        line.removeAll()
        state = left == 0 ? .trailer : .chunk
      case .chunkEnd:
        guard try takeLine(input, &place) else { return .more }
        state = .chunkSize
      case .trailer:
        guard try takeLine(input, &place) else { return .more }
        if line.count == 0 {
          state = .over
        } else {
          try passTrailer()
        }
      case .over: return .whole
      }
    }
  }

  // MARK: Lines

  /// Takes bytes up to a line's end into `line`; false when that has not come yet.
  private func takeLine(_ input: UnsafeRawBufferPointer, _ place: inout Int) throws(HTTPFault) -> Bool {
    while place < input.count {
      let byte = input[place]
      place += 1
      if byte == 0x0A {
        guard hasReturn else { throw HTTPFault(400, "a line ends in CR LF, not in LF alone") }
        hasReturn = false
        return true
      }
      guard !hasReturn else { throw HTTPFault(400, "a CR stands at the end of a line only") }
      if byte == 0x0D {
        hasReturn = true
        continue
      }
      guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else {
        throw HTTPFault(400, "a head has no control characters")
      }
      line.append(byte)
      try countLineByte()
    }
    return false
  }

  private func countLineByte() throws(HTTPFault) {
    switch state {
    case .requestLine:
      headCount += 1
      if headCount > Self.requestLineBytes {
        throw HTTPFault(414, "a request line may have \(Self.requestLineBytes) bytes at most", .tooLarge)
      }
    case .fields:
      headCount += 1
      if headCount > Self.headBytes {
        throw HTTPFault(431, "a head may have \(Self.headBytes) bytes at most", .tooLarge)
      }
    case .trailer:
      trailerCount += 1
      if trailerCount > Self.headBytes {
        throw HTTPFault(431, "a trailer may have \(Self.headBytes) bytes at most", .tooLarge)
      }
    case .chunkSize:
      if line.count > Self.chunkLineBytes {
        throw HTTPFault(400, "a chunk's size and extensions may have \(Self.chunkLineBytes) bytes at most")
      }
    case .chunkEnd: throw HTTPFault(400, "a chunk is longer than its size says")
    case .body, .chunk, .over: break
    }
  }

  /// Checks a field behind the last chunk, which nobody uses.
  private func passTrailer() throws(HTTPFault) {
    _ = try HTTPRequestHead.field(line.bytes)
    line.removeAll()
    trailerFields += 1
    guard trailerFields <= HTTPRequestHead.mostFields else {
      throw HTTPFault(431, "a trailer may have \(HTTPRequestHead.mostFields) fields at most", .tooLarge)
    }
  }

  // MARK: The body

  private func beginBody() throws(HTTPFault) {
    switch try head.framing() {
    case .none: state = .over
    case .length(let count):
      left = count
      state = count == 0 ? .over : .body
      isTooLarge = count > limit
      if isTooLarge { try checkSkipped(count) }
    case .chunked: state = .chunkSize
    }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) throws(HTTPFault) {
    bodyCount += bytes.count
    if bodyCount > limit, !isTooLarge {
      isTooLarge = true
      body = ByteBuffer(capacity: 16)
    }
    if isTooLarge { try checkSkipped(bodyCount) } else { body.append(bytes) }
  }

  private func checkSkipped(_ count: Int) throws(HTTPFault) {
    guard count / Self.skippedBodies > limit else { return }
    throw HTTPFault(413, "a body may have \(limit) bytes at most", .tooLarge)
  }

  /// The size that a chunk's line tells: hexadecimal digits and then nothing, or extensions behind a `;`.
  private static func chunkSize(_ line: UnsafeRawBufferPointer) throws(HTTPFault) -> Int {
    let digits = line.prefix { $0.isHexDigit }
    guard !digits.isEmpty, digits.count == line.count || line[digits.count] == UInt8(ascii: ";") else {
      throw HTTPFault(400, "a chunk's size is a hexadecimal number")
    }
    guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else {
      throw HTTPFault(400, "a chunk's size is out of range")
    }
    return size
  }
}
