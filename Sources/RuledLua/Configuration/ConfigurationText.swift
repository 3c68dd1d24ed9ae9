import RuledCore

/// The text of a configuration file, to find the lines of keys in it.
struct ConfigurationText {
  private let lines: [[UInt8]]

  init(_ text: [UInt8]) {
    lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
  }

  /// The line that sets the last member of `path`, or a line near it.
  ///
  /// - Parameters:
  ///   - path: the names of the members, from the global down.
  ///   - last: the line on which the assignment of the global ends, 0 when it is not known.
  /// - Returns: the line; `last` when the global is not found.
  func line(of path: [String], endingAt last: Int) -> Int {
    guard let first = path.first, let start = assignment(of: Array(first.utf8), endingAt: last) else { return last }
    var position = start
    for name in path.dropFirst() {
      guard let found = find(Array(name.utf8), from: position) else { break }
      position = found
    }
    return position.line
  }

  /// The last assignment of a global up to a line.
  ///
  /// One at the beginning of its line is preferred to an indented one.
  private func assignment(of name: [UInt8], endingAt last: Int) -> (line: Int, column: Int)? {
    var indented: (line: Int, column: Int)?
    for line in stride(from: last > 0 ? min(last, lines.count) : lines.count, to: 0, by: -1) {
      guard let column = Self.assignment(of: name, in: lines[line - 1], from: 0) else { continue }
      if lines[line - 1].starts(with: name) { return (line, column) }
      indented = indented ?? (line, column)
    }
    return indented
  }

  private func find(_ name: [UInt8], from start: (line: Int, column: Int)) -> (line: Int, column: Int)? {
    guard !name.isEmpty, start.line <= lines.count else { return nil }
    for line in start.line...lines.count {
      let first = line == start.line ? start.column : 0
      if let column = Self.assignment(of: name, in: lines[line - 1], from: first) { return (line, column) }
    }
    return nil
  }

  /// The column after `name` where `=` follows it, as in `name =` or `["name"] =`; nil when there is none.
  private static func assignment(of name: [UInt8], in line: [UInt8], from first: Int) -> Int? {
    var start = first
    while start + name.count <= line.count {
      defer { start += 1 }
      if line[start...].starts(with: "--".utf8) { return nil }
      guard line[start...].starts(with: name), start == 0 || !isWord(line[start - 1]) else { continue }
      var end = start + name.count
      let after = end
      while end < line.count, " \t\"']".utf8.contains(line[end]) { end += 1 }
      if end < line.count, line[end] == UInt8(ascii: "="), !line[(end + 1)...].starts(with: "=".utf8) { return after }
    }
    return nil
  }

  private static func isWord(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "_") || byte.isLetter || byte.isDigit }
}
