import Glibc

/// A test's own folder with a short path, removed with its contents when the test releases it.
final class TestFolder: Sendable {
  /// Where it is.
  let path: String

  /// Makes a new empty folder.
  init() {
    var template = Array("/tmp/re-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { preconditionFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(path) }

  /// Writes a file and creates its folders; replaces an existing file in one step, as editors do.
  func write(_ text: String, to name: String) {
    let target = "\(path)/\(name)"
    Self.makeFolders(to: target)
    Self.put(text, "\(target)~")
    let renamed = Glibc.rename("\(target)~", target)
    precondition(renamed == 0, "rename \(target): \(errno)")
  }

  /// Overwrites a file in place.
  func overwrite(_ text: String, _ name: String) { Self.put(text, "\(path)/\(name)") }

  /// The contents of a file; empty if it does not exist.
  func read(_ name: String) -> String { Self.read("\(path)/\(name)") }

  /// The contents of the file at a path; empty if it does not exist.
  static func read(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY)
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
  static func names(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = Glibc.readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Removes a file, or a folder with its contents.
  static func remove(_ path: String) {
    guard unlink(path) != 0 else { return }
    for name in names(path) { remove("\(path)/\(name)") }
    rmdir(path)
  }

  private static func makeFolders(to path: String) {
    let parts = path.split(separator: "/").dropLast()
    for count in 1...max(parts.count, 1) { mkdir("/" + parts.prefix(count).joined(separator: "/"), 0o755) }
  }

  private static func put(_ text: String, _ path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    precondition(descriptor >= 0, "open \(path): \(errno)")
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    let written = Glibc.write(descriptor, bytes, bytes.count)
    precondition(written == bytes.count, "write \(path): \(errno)")
  }
}
