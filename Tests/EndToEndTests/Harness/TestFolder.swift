import Glibc

/// A folder of a test's own under a short path, removed with everything in it when the test lets go of it.
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

  /// Writes a file, making the folders that lead to it; what it held is replaced in one step, as editors do.
  func write(_ text: String, to name: String) {
    let target = "\(path)/\(name)"
    Self.makeFolders(to: target)
    Self.put(text, "\(target)~")
    let renamed = Glibc.rename("\(target)~", target)
    precondition(renamed == 0, "rename \(target): \(errno)")
  }

  /// Writes a file where it stands.
  func overwrite(_ text: String, _ name: String) { Self.put(text, "\(path)/\(name)") }

  /// What a file holds; empty when there is none.
  func read(_ name: String) -> String { Self.read("\(path)/\(name)") }

  /// What the file at a path holds; empty when there is none.
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

  /// The names in the folder at a path, without the two dots.
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

  /// Removes a file, or a folder with all that is in it.
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
