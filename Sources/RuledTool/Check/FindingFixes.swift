enum FindingFixes {
  /// Applies all fixes, and returns how many there were; the files are relative to `root`.
  static func apply(_ findings: [Finding], root: String) throws(ToolError) -> Int {
    var count = 0
    for file in Set(findings.filter { $0.fix != nil }.map(\.file)).sorted() {
      let path = "\(root)/\(file)"
      var text = try Input(path: path).readAll()
      let fixes = findings.filter { $0.file == file }.compactMap(\.fix)
      var end = text.count
      for fix in fixes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) where fix.range.upperBound <= end {
        text.replaceSubrange(fix.range, with: Array(fix.text.utf8))
        end = fix.range.lowerBound
        count += 1
      }
      try WholeFile.replace(path, with: text)
    }
    return count
  }
}
