import Glibc

/// The files of this checkout.
enum Repository {
  /// The absolute path of the checkout.
  static let root = String(#filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 })

  /// The names in a folder, sorted, without hidden ones; empty if there is no such folder.
  static func entries(of folder: String) -> [String] {
    guard let handle = opendir(folder) else { return [] }
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// The paths of all files below a folder whose names end like one of `endings`.
  static func files(in folder: String, endingIn endings: [String]) -> [String] {
    entries(of: folder).flatMap { name in
      let path = "\(folder)/\(name)"
      if endings.contains(where: { name.hasSuffix($0) }) { return [path] }
      return name.contains(".") ? [] : files(in: path, endingIn: endings)
    }
  }

  /// Whether there is a file or folder at a path.
  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// The text of a file; empty if it can't be read.
  static func text(of path: String) -> String {
    guard let handle = fopen(path, "r") else { return "" }
    defer { fclose(handle) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = fread(&buffer, 1, buffer.count, handle)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The lines of a file.
  static func lines(of path: String) -> [Substring] {
    text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
  }
}
