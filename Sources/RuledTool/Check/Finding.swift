internal import RuledCore
internal import RuledLua

/// A problem in the rules or the configuration.
struct Finding: Equatable {
  /// How a text is to be changed so that the finding goes away.
  struct Fix: Equatable {
    /// The bytes of the file that are replaced.
    let range: Range<Int>
    let text: String
    /// Whether a name comes in the place of another.
    var isName = false
  }

  /// The kinds of findings, for tools that sort them.
  enum Code: String, CaseIterable {
    /// It does not load, or its declarations are wrong.
    case load = "load"
    case unknownGlobal = "unknown-global"
    case unknownMember = "unknown-member"
    case unknownName = "unknown-name"
    case lostAssignment = "lost-assignment"
    case unheardType = "unheard-type"
    case similarType = "similar-type"
    case unmadeType = "unmade-type"
    case pastTimer = "past-timer"
    case deadCondition = "dead-condition"
    case emptyDecision = "empty-decision"
    case unusedSetting = "unused-setting"
    case unreadDecision = "unread-decision"
    case openType = "open-type"
    case unusedLocal = "unused-local"
    case wrongArguments = "wrong-arguments"
    case forbiddenCall = "forbidden-call"
    case emptyState = "empty-state"
    case missingReturn = "missing-return"
    case frozenTable = "frozen-table"
    case oddExpression = "odd-expression"
    case data = "data"
    case configuration = "configuration"
  }

  /// The file, relative to the rules folder, or the configuration file as the command line names it.
  let file: String
  /// The line from 1; 0 for the whole file.
  let line: Int
  let message: String
  var code = Code.load
  /// Whether it is worth knowing and nothing more: it does not change the exit code.
  var isNote = false
  var fix: Fix?

  var text: String {
    let text = isNote ? "note: \(message)" : message
    if file.isEmpty { return text }
    return line > 0 ? "\(file):\(line): \(text)" : "\(file): \(text)"
  }

  var json: JSONValue {
    var object: JSONObject = [
      "file": .string(file), "line": .integer(Int64(line)), "message": .string(message), "code": .string(code.rawValue),
    ]
    if isNote { object["note"] = true }
    return .object(object)
  }
}

extension Finding {
  init(_ file: SourceFile, _ node: SyntaxNode, _ code: Code, _ message: String, isNote: Bool = false, fix: Fix? = nil) {
    self.init(file: file.path, line: node.line, message: message, code: code, isNote: isNote, fix: fix)
  }
}

extension Finding.Fix {
  /// The known name for a name that differs from it by one letter; nil for any other.
  init?(_ range: Range<Int>, from name: String, to near: String?) {
    guard let near, isOneEdit(name, near) else { return nil }
    self.init(range: range, text: near, isName: true)
  }
}

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
