/// Which files of a module name types of which others.
///
/// A file names another one if its code, without comments and texts, has the name of a type that the other declares at the top level.
struct FileGraph {
  /// The files, as paths below the module's folder without their ending.
  let files: [String]
  /// The files that each file names.
  private let named: [[Int]]

  /// The graph of the files with these texts.
  init(_ sources: [(path: String, text: String)]) {
    let words = sources.map { Self.types(in: $0.text) }
    var home: [String: Int] = [:]
    for (file, words) in words.enumerated() {
      for type in words.declared where home[type] == nil { home[type] = file }
    }
    files = sources.map(\.path)
    named = words.enumerated().map { file, words in
      Set(words.named.compactMap { home[$0] }).subtracting([file]).sorted()
    }
  }

  /// The graph of files, or of what else leads to others.
  init(_ arrows: [String: Set<String>]) {
    let names = arrows.keys.sorted()
    files = names
    named = names.map { name in
      names.indices.filter { names[$0] != name && arrows[name]?.contains(names[$0]) == true }
    }
  }

  /// The circles: groups of files of which each leads to all others.
  var circles: [[Int]] {
    let reached = files.indices.map { reach(from: $0) }
    var seen: Set<Int> = []
    return files.indices.compactMap { file in
      guard !seen.contains(file) else { return nil }
      let circle = reached[file].filter { reached[$0].contains(file) }.sorted()
      seen.formUnion(circle)
      return circle.isEmpty ? nil : circle
    }
  }

  /// The folders of files, the first component of each path; the module's own is empty.
  func folders(of circle: [Int]) -> Set<Substring> { Set(circle.map { folder(of: $0) }) }

  /// A shortest way around a circle, which goes through several folders if the circle does.
  func way(around circle: [Int]) -> String {
    let ways = circle.flatMap { file in named[file].map { [file, $0] } }
      .filter { circle.contains($0[1]) && (folders(of: circle).count == 1 || folder(of: $0[0]) != folder(of: $0[1])) }
      .compactMap { step in way(from: step[1], to: step[0]).map { [step[0]] + $0 } }
    let shortest = ways.min { $0.count < $1.count } ?? []
    return shortest.map { files[$0] }.joined(separator: " → ")
  }

  private func folder(of file: Int) -> Substring { files[file].contains("/") ? files[file].prefix { $0 != "/" } : "" }

  /// All files that a file leads to.
  private func reach(from file: Int) -> Set<Int> {
    var reached: Set<Int> = []
    var next = [file]
    while let file = next.popLast() { next += named[file].filter { reached.insert($0).inserted } }
    return reached
  }

  /// A shortest way, both ends included.
  private func way(from start: Int, to end: Int) -> [Int]? {
    var ways = [[start]]
    var seen: Set<Int> = [start]
    while !ways.isEmpty {
      if let found = ways.first(where: { $0.last == end }) { return found }
      ways = ways.flatMap { way in named[way[way.count - 1]].filter { seen.insert($0).inserted }.map { way + [$0] } }
    }
    return nil
  }

  // MARK: Reading

  private static let kinds: Set<String> = ["class", "struct", "enum", "protocol", "actor", "typealias"]
  private static let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")

  /// The types that a text declares at the top level, and those that it names.
  private static func types(in text: String) -> (declared: Set<String>, named: Set<String>) {
    var (declared, named): (Set<String>, Set<String>) = ([], [])
    for line in code(of: text).split(separator: UInt8(ascii: "\n")) {
      var before: ArraySlice<UInt8> = []
      for word in line.split(whereSeparator: { !isPart($0) }) {
        defer { before = word }
        guard let first = word.first, capitals.contains(first) else { continue }
        let name = String(decoding: word, as: UTF8.self)
        let isTop = line.first != UInt8(ascii: " ")
        if isTop, kinds.contains(String(decoding: before, as: UTF8.self)) { declared.insert(name) }
        let isMember = word.startIndex > line.startIndex && line[word.startIndex - 1] == UInt8(ascii: ".")
        if !isMember { named.insert(name) }
      }
    }
    return (declared, named)
  }

  /// Whether a byte is part of a word.
  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), capitals, UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }

  /// A text without comments and what stands between quotation marks.
  private static func code(of text: String) -> [UInt8] {
    var code: [UInt8] = []
    var rest = Array(text.utf8)[...]
    let (quote, slash, newline) = (UInt8(ascii: "\""), UInt8(ascii: "/"), UInt8(ascii: "\n"))
    func skipText(to isEnd: (ArraySlice<UInt8>) -> Bool) {
      while !rest.isEmpty, !isEnd(rest) { rest = rest.dropFirst(rest.first == UInt8(ascii: "\\") ? 2 : 1) }
    }
    while let byte = rest.popFirst() {
      if byte == slash, rest.first == slash {
        rest = rest.drop { $0 != newline }
      } else if byte == quote, rest.starts(with: [quote, quote]) {
        rest = rest.dropFirst(2)
        skipText { $0.starts(with: [quote, quote, quote]) }
        rest = rest.dropFirst(3)
      } else if byte == quote {
        skipText { $0.first == quote || $0.first == newline }
        rest = rest.dropFirst()
      } else {
        code.append(byte)
      }
    }
    return code
  }
}
