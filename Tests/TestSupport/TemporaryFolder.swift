import Glibc

/// A test's own folder in `/tmp`, removed with its contents when the test releases it.
///
/// Its path is short, so that the path of a socket in it is not too long.
package final class TemporaryFolder: Sendable {
  /// The folder's path, without a slash at the end.
  package let path: String

  /// Makes a new empty folder.
  package init() {
    var template = Array("/tmp/ruled-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { preconditionFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(path) }

  /// The path of `name` in the folder.
  package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a whole file in place.
  package func write(_ name: String, _ text: String) {
    makeFolders(to: name)
    let descriptor = open(self(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    precondition(descriptor >= 0, "open \(name): \(errno)")
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    let written = Glibc.write(descriptor, bytes, bytes.count)
    precondition(written == bytes.count, "write \(name): \(errno)")
  }

  /// Writes a whole file beside its place and moves it there, as editors do.
  package func replace(_ name: String, with text: String) {
    write("\(name)~", text)
    move("\(name)~", name)
  }

  /// Makes a folder in it.
  package func makeFolder(_ name: String) {
    let status = mkdir(self(name), 0o755)
    precondition(status == 0, "mkdir \(name): \(errno)")
  }

  /// Makes the folders that lead to a file in it, where they don't exist.
  package func makeFolders(to name: String) {
    let folders = name.split(separator: "/").dropLast()
    for count in 0...folders.count { mkdir(self(folders.prefix(count).joined(separator: "/")), 0o755) }
  }

  /// Makes a symbolic link in it.
  package func link(_ name: String, to target: String) {
    makeFolders(to: name)
    let status = symlink(target, self(name))
    precondition(status == 0, "symlink \(name): \(errno)")
  }

  package func move(_ name: String, _ target: String) {
    let status = rename(self(name), self(target))
    precondition(status == 0, "rename \(name): \(errno)")
  }

  /// The contents of a file in it; empty if it does not exist.
  package func read(_ name: String) -> String { Self.read(self(name)) }

  /// The contents of the file at a path; empty if it does not exist.
  package static func read(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The names in the folder at a path, without `.` and `..`.
  package static func names(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names.filter { $0 != "." && $0 != ".." }
  }

  /// The files below a folder that hold a text, by their paths.
  package static func files(below folder: String, holding text: String) -> [String] {
    names(folder).flatMap { name -> [String] in
      let path = "\(folder)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0 else { return [] }
      if status.st_mode & S_IFMT == S_IFDIR { return files(below: path, holding: text) }
      guard let file = fopen(path, "r") else { return [] }
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
      let count = fread(&bytes, 1, bytes.count, file)
      return bytes.withUnsafeBytes { holds(UnsafeRawBufferPointer(rebasing: $0[..<count]), text) } ? [path] : []
    }
  }

  private static func holds(_ bytes: UnsafeRawBufferPointer, _ text: String) -> Bool {
    guard var next = bytes.baseAddress, let first = text.utf8.first else { return false }
    let (end, count) = (next + bytes.count, text.utf8.count)
    while end - next >= count, let found = memchr(next, Int32(first), end - next - count + 1) {
      if memcmp(found, text, count) == 0 { return true }
      next = UnsafeRawPointer(found) + 1
    }
    return false
  }

  /// Removes a file, or a folder with its contents.
  package static func remove(_ path: String) {
    guard unlink(path) != 0 else { return }
    for name in names(path) { remove("\(path)/\(name)") }
    rmdir(path)
  }
}
