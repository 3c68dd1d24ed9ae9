import Glibc

/// The text of a configuration file, in which the lines of nested keys are looked up.
struct ConfigurationText {
  private let lines: [Substring]

  init(_ text: [UInt8]) {
    lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The line that names the last member of `path`, looked for from the line on where its first member is assigned.
  func line(of path: [String], from first: Int) -> Int {
    var line = max(first, 1)
    for name in path.dropFirst() {
      guard let found = (line...max(line, lines.count)).first(where: { $0 <= lines.count && lines[$0 - 1].contains(name) }) else { break }
      line = found
    }
    return first == 0 && path.count < 2 ? 0 : line
  }

  /// The bytes of the file at `path`, or nil when it can't be read.
  static func read(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      if count == 0 { return ferror(file) == 0 ? bytes : nil }
      bytes.append(contentsOf: chunk[..<count])
    }
  }
}
