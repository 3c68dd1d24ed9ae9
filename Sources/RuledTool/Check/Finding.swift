internal import RuledCore

/// A problem in the rules or the configuration.
struct Finding: Equatable {
  /// How a text is to be changed so that the finding goes away.
  struct Fix: Equatable {
    /// The bytes of the file that are replaced.
    let range: Range<Int>
    /// What takes their place.
    let text: String
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
    case pastTimer = "past-timer"
    case deadCondition = "dead-condition"
    case emptyDecision = "empty-decision"
    case unusedSetting = "unused-setting"
    case unreadDecision = "unread-decision"
    case data = "data"
    case configuration = "configuration"
  }

  /// The file, relative to the rules folder, or the configuration file as the command line names it.
  let file: String
  /// The line from 1; 0 for the whole file.
  let line: Int
  let message: String
  /// What kind of problem it is.
  var code = Code.load
  /// Whether it is worth knowing and nothing more: it does not change the exit code.
  var isNote = false
  /// How to mend it, if that is safe.
  var fix: Fix?

  /// The finding as `file:line: message`.
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

/// Findings as SARIF 2.1.0, which code hosts show beside the changed lines.
enum SARIFReport {
  /// The document; `root` is the rules folder, which the files' paths begin with.
  static func json(_ findings: [Finding], root: String) -> JSONValue {
    let rules = Finding.Code.allCases.map { code -> JSONValue in ["id": .string(code.rawValue)] }
    let results = findings.map { finding -> JSONValue in
      let path = finding.code == .configuration ? finding.file : "\(root)/\(finding.file)"
      return [
        "ruleId": .string(finding.code.rawValue), "level": .string(finding.isNote ? "note" : "error"),
        "message": ["text": .string(finding.message)],
        "locations": [
          [
            "physicalLocation": [
              "artifactLocation": ["uri": .string(path)],
              "region": ["startLine": .integer(Int64(max(finding.line, 1)))],
            ]
          ]
        ],
      ]
    }
    return [
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
      "runs": [
        [
          "tool": ["driver": ["name": "rulectl check", "version": .string(Version.current), "rules": .array(rules)]],
          "results": .array(results),
        ]
      ],
    ]
  }
}

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
      try WholeFile.replace(path, with: text)
    }
    return count
  }
}
