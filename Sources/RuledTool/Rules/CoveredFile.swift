internal import RuledCore

/// One file of the rules and which of its lines the tests ran.
struct CoveredFile {
  /// The file, relative to the rules folder.
  let path: String
  /// How many lines hold code.
  let lines: Int
  /// Those that never ran, in order.
  let missed: [Int]

  /// How much of the file ran, in per cent with one decimal.
  var percent: Double { Self.percent(lines - missed.count, of: lines) }

  /// `part` of `whole` in per cent with one decimal, rounded down; 100 when there is nothing.
  static func percent(_ part: Int, of whole: Int) -> Double {
    whole == 0 ? 100 : Double(part * 1000 / whole) / 10
  }

  /// How much of all files ran.
  static func percent(_ files: [CoveredFile]) -> Double {
    let lines = files.reduce(0) { $0 + $1.lines }
    return percent(lines - files.reduce(0) { $0 + $1.missed.count }, of: lines)
  }

  /// The missed lines as people write them: `12-14, 20`.
  var missedText: String {
    var ranges: [ClosedRange<Int>] = []
    for line in missed {
      if let last = ranges.last, last.upperBound + 1 == line {
        ranges[ranges.count - 1] = last.lowerBound...line
      } else {
        ranges.append(line...line)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(
      separator: ", ")
  }

  /// The file as JSON.
  var json: JSONValue {
    [
      "file": .string(path), "lines": .integer(Int64(lines)), "ran": .integer(Int64(lines - missed.count)),
      "percent": .number(percent), "missed": .array(missed.map { .integer(Int64($0)) }),
    ]
  }
}
