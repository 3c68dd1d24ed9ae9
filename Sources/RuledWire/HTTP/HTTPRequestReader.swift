package import RuledCore

/// Reads HTTP/1.1 requests from a stream of bytes, one after the other.
///
/// The result depends on the bytes alone, never on the pieces in which they arrive. After an error the reader can't tell where the next
/// request would begin, so nothing more may be read with it.
package final class HTTPRequestReader {
  package enum Step: Equatable {
    /// All bytes are read, and the request needs more.
    case incomplete
    /// The head is complete, the body comes next.
    case head
    /// The request is complete; no byte after it was read.
    case complete
  }

  private enum State {
    case requestLine, fields, body, chunkSize, chunk, chunkEnd, trailer, complete
  }

  /// The longest request line, in bytes.
  static let maximumRequestLine = 16 << 10
  /// The longest head, and the longest trailer, in bytes without line ends.
  static let maximumHead = 64 << 10
  /// The longest line with a chunk's size and extensions, in bytes.
  static let maximumChunkLine = 256
  /// How many times the limit a body may have to be read and dropped, so that the connection stays usable; a longer one is an error.
  static let skippedBodies = 16

  /// The request's head; complete from `.head` on.
  package private(set) var head = HTTPRequestHead()
  /// The request's body, decoded.
  package private(set) var body = ByteBuffer(capacity: 16)
  /// Whether the body is longer than the limit and was dropped.
  package private(set) var isTooLarge = false

  private let limit: Int
  private var state = State.requestLine
  private var line: [UInt8] = []
  private var hasReturn = false
  private var skippedEmptyLine = false
  private var headCount = 0
  private var trailerCount = 0
  private var trailerFields = 0
  /// How many bytes of the body or of the chunk are still to come.
  private var remaining = 0
  private var bodyCount = 0

  /// A reader of requests whose bodies have at most `bodyLimit` bytes.
  package init(bodyLimit: Int) { limit = bodyLimit }

  package var isWithinRequest: Bool { state != .requestLine || !line.isEmpty || hasReturn || skippedEmptyLine }
  package var usedBytes: Int { headCount + line.capacity + body.capacity }

  /// Prepares for the next request; `body` becomes another buffer.
  package func reset() {
    head = HTTPRequestHead()
    body = ByteBuffer(capacity: 16)
    line.removeAll(keepingCapacity: line.capacity <= 1024)
    isTooLarge = false
    state = .requestLine
    hasReturn = false
    skippedEmptyLine = false
    headCount = 0
    trailerCount = 0
    trailerFields = 0
    remaining = 0
    bodyCount = 0
  }

  /// Reads `input` from `offset` on, up to the next step, and moves `offset` past the bytes that were read.
  package func read(_ input: ByteView, from offset: inout Int) throws(HTTPError) -> Step {
    while true {
      switch state {
      case .requestLine:
        guard try readLine(input, &offset) else { return .incomplete }
        if line.isEmpty, !skippedEmptyLine {
          skippedEmptyLine = true  // RFC 9112, section 2.2: a server ignores an empty line before a request
          continue
        }
        try head.parseRequestLine(line)
        line.removeAll(keepingCapacity: true)
        state = .fields
      case .fields:
        guard try readLine(input, &offset) else { return .incomplete }
        guard line.isEmpty else {
          try head.appendField(line)
          line.removeAll(keepingCapacity: true)
          continue
        }
        try beginBody()
        return .head
      case .body, .chunk:
        let count = min(remaining, input.count - offset)
        try appendToBody(input.extracting(offset..<offset + count))
        offset += count
        remaining -= count
        guard remaining == 0 else { return .incomplete }
        state = state == .body ? .complete : .chunkEnd
      case .chunkSize:
        guard try readLine(input, &offset) else { return .incomplete }
        remaining = try Self.chunkSize(line)
        line.removeAll(keepingCapacity: true)
        state = remaining == 0 ? .trailer : .chunk
      case .chunkEnd:
        guard try readLine(input, &offset) else { return .incomplete }
        state = .chunkSize
      case .trailer:
        guard try readLine(input, &offset) else { return .incomplete }
        if line.isEmpty {
          state = .complete
        } else {
          try checkTrailerField()
        }
      case .complete: return .complete
      }
    }
  }

  // MARK: Lines

  /// Reads up to a line's end into `line`; false when the end has not arrived yet.
  private func readLine(_ input: ByteView, _ offset: inout Int) throws(HTTPError) -> Bool {
    while offset < input.count {
      let byte = input[offset]
      offset += 1
      if byte == 0x0A {
        guard hasReturn else { throw HTTPError(400, "a line ends in CR LF, not in LF alone") }
        hasReturn = false
        return true
      }
      guard !hasReturn else { throw HTTPError(400, "a CR is allowed at the end of a line only") }
      if byte == 0x0D {
        hasReturn = true
        continue
      }
      guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else {
        throw HTTPError(400, "a head has no control characters")
      }
      line.append(byte)
      try countLineByte()
    }
    return false
  }

  private func countLineByte() throws(HTTPError) {
    switch state {
    case .requestLine:
      headCount += 1
      if headCount > Self.maximumRequestLine {
        throw HTTPError(414, "a request line may have \(Self.maximumRequestLine) bytes at most", .tooLarge)
      }
    case .fields:
      headCount += 1
      if headCount > Self.maximumHead {
        throw HTTPError(431, "a head may have \(Self.maximumHead) bytes at most", .tooLarge)
      }
    case .trailer:
      trailerCount += 1
      if trailerCount > Self.maximumHead {
        throw HTTPError(431, "a trailer may have \(Self.maximumHead) bytes at most", .tooLarge)
      }
    case .chunkSize:
      if line.count > Self.maximumChunkLine {
        throw HTTPError(400, "a chunk's size and extensions may have \(Self.maximumChunkLine) bytes at most")
      }
    case .chunkEnd: throw HTTPError(400, "a chunk is longer than its size says")
    case .body, .chunk, .complete: break
    }
  }

  /// Checks a field of the trailer, which is not used.
  private func checkTrailerField() throws(HTTPError) {
    _ = try HTTPRequestHead.field(line)
    line.removeAll(keepingCapacity: true)
    trailerFields += 1
    guard trailerFields <= HTTPRequestHead.maximumFields else {
      throw HTTPError(431, "a trailer may have \(HTTPRequestHead.maximumFields) fields at most", .tooLarge)
    }
  }

  // MARK: The body

  private func beginBody() throws(HTTPError) {
    switch try head.bodyFraming() {
    case .none: state = .complete
    case .length(let count):
      remaining = count
      state = count == 0 ? .complete : .body
      isTooLarge = count > limit
      if isTooLarge { try checkSkippable(count) }
    case .chunked: state = .chunkSize
    }
  }

  private func appendToBody(_ bytes: ByteView) throws(HTTPError) {
    bodyCount += bytes.count
    if bodyCount > limit, !isTooLarge {
      isTooLarge = true
      body = ByteBuffer(capacity: 16)
    }
    if isTooLarge { try checkSkippable(bodyCount) } else { body.append(bytes) }
  }

  /// Checks that a body over the limit is short enough to be read and dropped.
  private func checkSkippable(_ count: Int) throws(HTTPError) {
    guard count / Self.skippedBodies > limit else { return }
    throw HTTPError(413, "a body may have \(limit) bytes at most", .tooLarge)
  }

  /// The size in a chunk's line: hexadecimal digits, then nothing or a `;` with extensions.
  private static func chunkSize(_ line: [UInt8]) throws(HTTPError) -> Int {
    let digits = line.prefix { $0.isHexDigit }
    guard !digits.isEmpty, digits.count == line.count || line[digits.count] == UInt8(ascii: ";") else {
      throw HTTPError(400, "a chunk's size is a hexadecimal number")
    }
    guard let size = Int(digits.text, radix: 16) else {
      throw HTTPError(400, "a chunk's size is out of range")
    }
    return size
  }
}
