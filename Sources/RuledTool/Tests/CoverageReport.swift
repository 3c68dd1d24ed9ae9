internal import RuledCore
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
    var table = Table([
      "FILE": .left, "LINES": .right, "FUNCTIONS": .right, "BRANCHES": .right, "%": .right, "NEVER RAN": .left,
    ]).rows(files) { file in
      [
        file.path, file.share(.lines), file.share(.functions), file.share(.branches), "\(file.percent)",
        file.missedText,
      ]
    }
    func total(_ aspect: CoveredFile.Aspect) -> String {
      let counts = files.map { $0.count(aspect) }
      return "\(counts.reduce(0) { $0 + $1.ran })/\(counts.reduce(0) { $0 + $1.all })"
    }
    table.add(["all", total(.lines), total(.functions), total(.branches), "\(percent)", ""])
    return "\n" + table.text(style)
  }

  var json: JSONValue { ["percent": .number(percent), "files": .array(files.map(\.json))] }
}
