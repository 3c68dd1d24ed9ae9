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

struct CoveredFile: Sendable {
  /// The kinds of parts beside lines, by their names in reports.
  private static let kinds: [(name: String, kind: CoveredPart.Kind)] = [
    ("functions", .function), ("branches", .branch),
  ]

  /// The file, relative to the rules folder.
  let path: String
  /// The lines that hold code, in order.
  let lines: [Int]
  /// Those lines, and others, that ran.
  private(set) var ranLines: Set<Int>
  /// The functions and branches with the lines on which they begin.
  private(set) var parts: [(kind: CoveredPart.Kind, line: Int, ran: Bool)]

  mutating func merge(_ other: CoveredFile) {
    ranLines.formUnion(other.ranLines)
    if parts.isEmpty { parts = other.parts }
    for (index, part) in other.parts.enumerated() where part.ran { parts[index].ran = true }
  }

  /// The number of parts of a kind, or of lines, and of those that ran.
  func count(_ kind: CoveredPart.Kind? = nil) -> (all: Int, ran: Int) {
    guard let kind else { return (lines.count, lines.count { ranLines.contains($0) }) }
    let parts = parts.filter { $0.kind == kind }
    return (parts.count, parts.count(where: \.ran))
  }

  var all: Int { lines.count + parts.count }
  /// The number of lines and parts that ran.
  var ran: Int { count().ran + parts.count(where: \.ran) }
  /// How much of the file ran, in per cent with one decimal.
  var percent: Double { Self.percent(ran, of: all) }

  /// `part` of `whole` in per cent with one decimal, rounded down; 100 when `whole` is 0.
  static func percent(_ part: Int, of whole: Int) -> Double {
    whole == 0 ? 100 : Double(part * 1000 / whole) / 10
  }

  private var missedLines: [Int] { lines.filter { !ranLines.contains($0) } }

  /// The lines of the functions or branches that never ran, each once.
  private func missed(_ kind: CoveredPart.Kind) -> [Int] {
    Set(parts.filter { !$0.ran && $0.kind == kind }.map(\.line)).sorted()
  }

  /// The parts that never ran: `12-14, 20; functions 30; branches 7`, without parts of lines that never ran.
  var missedText: String {
    let missed = Set(missedLines)
    var texts = [Self.ranges(missedLines)]
    for (name, kind) in Self.kinds {
      let lines = self.missed(kind).filter { !missed.contains($0) }
      if !lines.isEmpty { texts.append("\(name) \(Self.ranges(lines))") }
    }
    return texts.filter { !$0.isEmpty }.joined(separator: "; ")
  }

  private static func ranges(_ lines: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for line in lines {
      if let last = ranges.last, last.upperBound + 1 == line {
        ranges[ranges.count - 1] = last.lowerBound...line
      } else {
        ranges.append(line...line)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(
      separator: ", ")
  }

  var json: JSONValue {
    func numbers(_ lines: [Int]) -> JSONValue { .array(lines.map { .integer(Int64($0)) }) }
    var object: JSONObject = [
      "file": .string(path), "lines": .integer(Int64(lines.count)), "ran": .integer(Int64(count().ran)),
      "percent": .number(percent), "missed": numbers(missedLines),
    ]
    for (name, kind) in Self.kinds {
      let (all, ran) = count(kind)
      object[name] = ["all": .integer(Int64(all)), "ran": .integer(Int64(ran)), "missed": numbers(missed(kind))]
    }
    return .object(object)
  }
}
