internal import Glibc
internal import RuledCore

/// Reads a file, a descriptor, or text in memory, line by line or whole.
package final class Input {
  /// The size in bytes, when it is known.
  package let size: Int?
  let isTerminal: Bool
  /// How many bytes were read as lines so far.
  package private(set) var consumed = 0
  private let descriptor: Int32?
  private let closes: Bool
  /// The file, as an error names it.
  private let name: String
  private let lines: LineBuffer
  private var isAtStart = true
  private var isAtEnd = false

  package init(descriptor: Int32, closes: Bool = false, name: String = "the input") {
    self.descriptor = descriptor
    self.closes = closes
    self.name = name
    lines = LineBuffer()
    isTerminal = isatty(descriptor) == 1
    var status = stat()
    size = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// Reads `text`, as if a person typed it on a terminal or not.
  package init(text: String, isTerminal: Bool = false) {
    self.isTerminal = isTerminal
    descriptor = nil
    closes = false
    name = ""
    lines = LineBuffer(text)
    size = text.utf8.count
    isAtEnd = true
  }

  package convenience init(path: String) throws(ToolError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ToolError.system("cannot read '\(path)'") }
    self.init(descriptor: descriptor, closes: true, name: "'\(path)'")
  }

  deinit { if let descriptor, closes { close(descriptor) } }

  /// How much was read as lines, from 0 to 1; nil when the size is not known.
  var share: Double? { size.flatMap { $0 > 0 ? Double(consumed) / Double($0) : nil } }

  static func isBlank(_ line: [UInt8]) -> Bool { line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }

  /// Whether `nextLine` returns without waiting for more input.
  var isReady: Bool {
    guard let descriptor, !isAtEnd, !lines.hasLine else { return true }
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) != 0
  }

  /// The next line without its `\n`; nil at the end.
  ///
  /// The last line may lack its `\n`.
  package func nextLine() throws(ToolError) -> [UInt8]? {
    while true {
      if let line = lines.next() {
        consumed += line.count + 1
        return text(line)
      }
      if isAtEnd {
        let line = lines.rest()
        consumed += line.count
        return line.isEmpty ? nil : text(line)
      }
      try fill()
    }
  }

  /// Everything that was not read as a line.
  package func readAll() throws(ToolError) -> [UInt8] {
    while !isAtEnd { try fill() }
    return text(lines.rest())
  }

  /// A part of the input; the first one without a byte order mark.
  private func text(_ part: ByteView) -> [UInt8] {
    defer { isAtStart = false }
    return isAtStart ? ByteOrderMark.without(Array(part)) : Array(part)
  }

  private func fill() throws(ToolError) {
    guard let descriptor else { return }
    let count = lines.read(from: descriptor)
    if count == 0 {
      isAtEnd = true
    } else if count < 0, errno != EINTR {
      throw ToolError.system("cannot read \(name)")
    }
  }
}
