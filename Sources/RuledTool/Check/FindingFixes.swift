internal import Glibc
internal import RuledCore

/// Mends files as findings say.
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
      try write(text, to: path)
    }
    return count
  }

  /// Replaces a file whole, so that a daemon that watches it never reads half of it.
  static func write(_ text: [UInt8], to path: String) throws(ToolError) {
    let new = "\(path).\(getpid()).tmp"
    let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failed(path) }
    let output = Output(descriptor: descriptor)
    output.write(String(decoding: text, as: UTF8.self))
    output.flush()
    guard close(descriptor) == 0, rename(new, path) == 0 else { throw failed(path) }
  }

  private static func failed(_ path: String) -> ToolError {
    ToolError("cannot write '\(path)': \(String(cString: strerror(errno)))")
  }
}
