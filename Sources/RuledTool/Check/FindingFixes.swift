enum FindingFixes {
  /// Applies all fixes.
  ///
  /// - Parameters:
  ///   - findings: the findings, of which some have a fix.
  ///   - root: the rules folder, which the files are relative to.
  /// - Returns: how many fixes there were.
  /// - Throws: when a file can't be read or written.
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
