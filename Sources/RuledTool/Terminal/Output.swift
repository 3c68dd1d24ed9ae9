internal import Glibc
internal import RuledCore
internal import RuledReports

/// Writes to a descriptor, or to memory for a test.
///
/// Texts of others, such as subjects and states, go through `printable` or JSON before; the characters that JSON lets through are escaped here.
///
/// A terminal gets each text at once, anything else blocks of 32 KiB.
package final class Output {
  /// Whether it is a terminal.
  package let isTerminal: Bool
  private let descriptor: Int32?
  private let buffer = ByteBuffer(capacity: 4096)

  /// Writes to an open descriptor.
  package init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  /// Writes to memory, for `text`.
  package init(isTerminal: Bool = false) {
    descriptor = nil
    self.isTerminal = isTerminal
  }

  /// What was written and not flushed; in memory, all that was written.
  package var text: String { buffer.text }

  /// Writes `text`, with what steers a terminal escaped as in JSON, but for C0.
  package func write(_ text: String) { writeExactly(text.withoutSteering) }

  /// Writes `text` as it is, which must be meant for a file.
  func writeExactly(_ text: String) {
    buffer.append(contentsOf: text)
    if isTerminal || buffer.count >= 32_768 { flush() }
  }

  /// Writes the buffered text to the descriptor.
  ///
  /// When that fails, as at the end of a closed pipe, the text is dropped.
  package func flush() {
    guard let descriptor else { return }
    while buffer.count > 0 {
      let written = Glibc.write(descriptor, buffer.bytes.baseAddress, buffer.count)
      if written > 0 {
        buffer.removeFirst(written)
      } else if errno != EINTR {
        buffer.removeAll()
      }
    }
  }
}

/// A progress line on standard error; nothing where that is no terminal.
struct Progress {
  private static let interval = Duration.milliseconds(100)
  private static let barWidth = 24

  private let errors: Output?
  private var started = ContinuousClock.now
  private var shown: ContinuousClock.Instant?
  private var lastCount = 0

  /// A progress line that is not shown yet.
  init(_ environment: ToolEnvironment) {
    errors = environment.showsProgress ? environment.errors : nil
  }

  /// Shows the progress, at most ten times a second.
  ///
  /// - Parameters:
  ///   - share: How much is done, from 0 to 1, when that is known: drawn as a bar, and with the time that the rest takes at the rate so far.
  ///   - count: How many of `noun` are done: shown with their rate.
  ///   - noun: What is counted, in the singular.
  ///   - plural: The plural of `noun`, if it is irregular.
  mutating func show(share: Double?, count: Int, _ noun: String, plural: String? = nil) {
    guard let errors else { return }
    let now = ContinuousClock.now
    // Work that is done anew, or in a second pass, has a rate of its own.
    if count < lastCount { started = now }
    lastCount = count
    if let shown, now - shown < Self.interval { return }
    shown = now
    var text = "\r\u{1B}[K"
    if let share {
      let filled = Int(min(share, 1) * Double(Self.barWidth))
      text += String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
      text += " \(Int(min(share, 1) * 100))%  "
    }
    let seconds = Double((now - started) / .seconds(1))
    let rate = seconds > 0 ? Int(Double(count) / seconds) : 0
    let done = Figures.count(count, noun, plural: plural ?? noun + "s")
    text += "\(done)  \(Figures.count(rate))/s"
    if let share, share > 0, seconds >= 1 {
      text += "  \(Figures.duration(seconds: Int((seconds / share - seconds).rounded(.up)))) left"
    }
    errors.write(text)
  }

  /// Clears the line, before other lines and at the end.
  mutating func clear() {
    guard let errors, shown != nil else { return }
    shown = nil
    errors.write("\r\u{1B}[K")
  }
}

/// Writes a text as a whole file; output that could not be written whole is an error.
enum WholeFile {
  /// Writes to `path`: a new file, in place of what a file has, or to what else is there, such as a pipe.
  ///
  /// With `forOwner`, nobody else may read the file.
  static func write(_ text: [UInt8], to path: String, forOwner: Bool = false) throws(ToolError) {
    try write(text, path, O_TRUNC, path, forOwner: forOwner)
  }

  /// Writes a new file; an error if there is one.
  static func create(_ path: String, with text: [UInt8]) throws(ToolError) { try write(text, path, O_EXCL, path) }

  /// Replaces a file in one step, so that nobody who reads it finds half of it, and a failure leaves it as it was.
  ///
  /// With `forOwner`, nobody else may read it.
  static func replace(_ path: String, with text: [UInt8], forOwner: Bool = false) throws(ToolError) {
    let new = "\(path).\(getpid()).tmp"
    do throws(ToolError) {
      try write(text, new, O_TRUNC, path, forOwner: forOwner)
      guard rename(new, path) == 0 else { throw failed(path) }
    } catch {
      unlink(new)
      throw error
    }
  }

  private static func write(
    _ text: [UInt8], _ file: String, _ flag: Int32, _ path: String, forOwner: Bool = false
  ) throws(ToolError) {
    let descriptor = open(file, O_WRONLY | O_CREAT | flag | O_CLOEXEC, forOwner ? 0o600 : 0o666)
    guard descriptor >= 0 else { throw failed(path) }
    var status = stat()
    if forOwner, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { fchmod(descriptor, 0o600) }
    var written = 0
    while written < text.count {
      let count = text.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress?.advanced(by: written), text.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        let error = failed(path)
        close(descriptor)
        throw error
      }
    }
    guard close(descriptor) == 0 else { throw failed(path) }
  }

  private static func failed(_ path: String) -> ToolError {
    ToolError("cannot write '\(path)': \(String(cString: strerror(errno)))")
  }
}

/// A file that lines are appended to and that is synced after each append.
final class AppendedFile {
  private let path: String
  private let descriptor: Int32

  /// Opens a file, or makes it for its owner alone.
  init(_ path: String) throws(ToolError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.error(path) }
  }

  deinit { close(descriptor) }

  /// Appends a line for each value; they are on the disk when this returns.
  func append(_ values: [JSONValue]) throws(ToolError) {
    let text = Array(values.map { $0.text + "\n" }.joined().utf8)
    var written = 0
    while written < text.count {
      let count = text.withView {
        write(descriptor, $0.baseAddress?.advanced(by: written), text.count - written)
      }
      if count >= 0 { written += count } else if errno != EINTR { throw Self.error(path) }
    }
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw Self.error(path) }
    try syncFolder()
  }

  /// Makes the name of a new file durable.
  private func syncFolder() throws(ToolError) {
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw Self.error(folder) }
    defer { close(opened) }
    guard fsync(opened) == 0 || errno == EINVAL else { throw Self.error(folder) }
  }

  private static func error(_ path: String) -> ToolError {
    ToolError("cannot write '\(path)', nothing more was dropped: \(String(cString: strerror(errno)))")
  }
}
