internal import RuledLua

enum FindingFixes {
  /// Applies all fixes that leave a file valid Lua, and returns their number; the files are relative to `root`.
  static func apply(_ findings: [Finding], root: String) throws(ToolError) -> Int {
    var count = 0
    for file in Set(findings.filter { $0.fix != nil }.map(\.file)).sorted() {
      let path = "\(root)/\(file)"
      var text = try Input(path: path).readAll()
      let fixes = findings.filter { $0.file == file }.compactMap(\.fix)
      var end = text.count, applied = 0
      for fix in fixes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) where fix.range.upperBound <= end {
        guard !fix.isName || isQuoted(fix.range, in: text) || LuaText.isName(fix.text) else { continue }
        text.replaceSubrange(fix.range, with: Array(fix.text.utf8))
        end = fix.range.lowerBound
        applied += 1
      }
      guard applied > 0, (try? SyntaxTree(parsing: text)) != nil else { continue }
      try WholeFile.replace(path, with: text)
      count += applied
    }
    return count
  }

  private static func isQuoted(_ range: Range<Int>, in text: [UInt8]) -> Bool {
    text[..<range.lowerBound].last.map { "\"'[".utf8.contains($0) } ?? false
  }
}
