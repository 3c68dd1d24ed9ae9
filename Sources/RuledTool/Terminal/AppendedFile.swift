internal import Glibc
internal import RuledCore

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
    let written = text.withView { text in
      moveWhole(text.count) { write(descriptor, text.baseAddress?.advanced(by: $0), text.count - $0) }
    }
    guard written == text.count else { throw Self.error(path) }
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw Self.error(path) }
    try syncFolder()
  }

  /// Makes the name of a new file durable.
  private func syncFolder() throws(ToolError) {
    let folder = path.parentFolder
    let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw Self.error(folder) }
    defer { close(opened) }
    guard fsync(opened) == 0 || errno == EINVAL else { throw Self.error(folder) }
  }

  private static func error(_ path: String) -> ToolError {
    ToolError.system("cannot write '\(path)', nothing more was dropped")
  }
}
