internal import Glibc
internal import RuledCore

/// Writes a text as a whole file; output that could not be written whole is an error.
enum WholeFile {
  /// Writes to `path`: a new file, in place of a file's content, or to an existing pipe and the like.
  ///
  /// With `forOwner`, nobody else may read the file.
  static func write(_ text: [UInt8], to path: String, forOwner: Bool = false) throws(ToolError) {
    try write(text, path, O_TRUNC, path, forOwner: forOwner)
  }

  /// Writes a new file; an error if there is one.
  static func create(_ path: String, with text: [UInt8]) throws(ToolError) { try write(text, path, O_EXCL, path) }

  /// Replaces a file in one step: no reader finds half of it, and a failure leaves it as it was.
  ///
  /// With `forOwner`, nobody else may read it.
  static func replace(_ path: String, with text: [UInt8], forOwner: Bool = false) throws(ToolError) {
    let new = "\(path).\(getpid()).tmp"
    do throws(ToolError) {
      try write(text, new, O_TRUNC, path, forOwner: forOwner)
      guard rename(new, path) == 0 else { throw ToolError.system("cannot write '\(path)'") }
    } catch {
      unlink(new)
      throw error
    }
  }

  private static func write(
    _ text: [UInt8], _ file: String, _ flag: Int32, _ path: String, forOwner: Bool = false
  ) throws(ToolError) {
    let descriptor = open(file, O_WRONLY | O_CREAT | flag | O_CLOEXEC, forOwner ? 0o600 : 0o666)
    guard descriptor >= 0 else { throw ToolError.system("cannot write '\(path)'") }
    var status = stat()
    if forOwner, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { fchmod(descriptor, 0o600) }
    let written = text.withView { text in
      moveWhole(text.count) { Glibc.write(descriptor, text.baseAddress?.advanced(by: $0), text.count - $0) }
    }
    guard written == text.count else {
      let error = ToolError.system("cannot write '\(path)'")
      close(descriptor)
      throw error
    }
    guard close(descriptor) == 0 else { throw ToolError.system("cannot write '\(path)'") }
  }
}
