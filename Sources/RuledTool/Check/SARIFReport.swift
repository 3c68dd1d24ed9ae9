internal import RuledCore

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
