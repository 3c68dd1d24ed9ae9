internal import RuledCore
internal import RuledLua
internal import RuledReports

/// The parts of the rules that tests ran, file by file.
struct CoverageReport: Sendable {
  private(set) var files: [CoveredFile] = []

  /// Adds a file, or further parts that ran of a known one.
  mutating func add(_ file: CoveredFile) {
    if let index = files.firstIndex(where: { $0.path == file.path }) {
      files[index].merge(file)
    } else {
      files.append(file)
      files.sort { $0.path < $1.path }
    }
  }

  mutating func merge(_ other: CoverageReport) { for file in other.files { add(file) } }

  /// How much of all files ran, in per cent with one decimal.
  var percent: Double {
    CoveredFile.percent(files.reduce(0) { $0 + $1.ran }, of: files.reduce(0) { $0 + $1.all })
  }

  /// A table of how much of each file ran.
  func text(_ style: Style) -> String {
    func shares(_ files: [CoveredFile]) -> [String] {
      [nil, CoveredPart.Kind.function, .branch].map { kind in
        let counts = files.map { $0.count(kind) }
        return "\(counts.reduce(0) { $0 + $1.ran })/\(counts.reduce(0) { $0 + $1.all })"
      }
    }
    var table = Table([
      "FILE", ">LINES", ">FUNCTIONS", ">BRANCHES", ">%", "NEVER RAN",
    ]).rows(files) { [$0.path] + shares([$0]) + ["\($0.percent)", $0.missedText] }
    table.add(["all"] + shares(files) + ["\(percent)", ""])
    return "\n" + table.text(style)
  }

  var json: JSONValue { ["percent": .number(percent), "files": .array(files.map(\.json))] }
}
