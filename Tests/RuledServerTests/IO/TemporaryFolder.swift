import Glibc

/// A folder under /tmp that is removed with its contents when it is destroyed.
final class TemporaryFolder {
  /// The folder's path, without a slash at the end.
  let path: String

  init() {
    var template = Array("/tmp/ruled-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { fatalError("mkdtemp failed") }
    path = String(cString: made)
  }

  deinit { Self.remove(path) }

  /// The path of `name` in the folder.
  func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Writes a file whole.
  func write(_ name: String, _ text: String) {
    let descriptor = open(self(name), O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    precondition(descriptor >= 0, "open \(name)")
    _ = text.withCString { Glibc.write(descriptor, $0, text.utf8.count) }
    close(descriptor)
  }

  /// Makes a folder in it.
  func makeFolder(_ name: String) {
    let status = mkdir(self(name), 0o755)
    precondition(status == 0, "mkdir \(name)")
  }

  /// Makes a symbolic link in it.
  func link(_ name: String, to target: String) {
    let status = symlink(target, self(name))
    precondition(status == 0, "symlink \(name)")
  }

  /// Renames within it.
  func move(_ from: String, _ to: String) {
    let status = rename(self(from), self(to))
    precondition(status == 0, "rename \(from)")
  }

  /// Removes a file, or a folder with all that is in it.
  static func remove(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFDIR, let folder = opendir(path) {
      var names: [String] = []
      while let entry = readdir(folder) {
        names.append(
          withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
      }
      closedir(folder)
      for name in names where name != "." && name != ".." { remove(path + "/" + name) }
      rmdir(path)
    } else {
      unlink(path)
    }
  }
}
