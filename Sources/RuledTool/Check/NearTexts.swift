internal import RuledCore

/// Texts in which those that differ by one letter from another are found without a comparison with each.
///
/// Two texts that differ by one letter, or in the order of two neighbours, are the same without a letter, or one is the other without a letter.
struct NearTexts {
  private(set) var texts: [String] = []
  /// The places of the texts by their bytes, and by their bytes without any one.
  private var places: [[UInt8]: [Int]] = [:]

  init(_ all: [String]) {
    var seen: Set<String> = []
    texts = all.filter { seen.insert($0).inserted }
    for (place, text) in texts.enumerated() {
      for key in Self.keys(text) { places[key, default: []].append(place) }
    }
  }

  /// Those that differ by one letter, in their order.
  func near(_ text: String) -> [String] {
    let found = Set(Self.keys(text).flatMap { places[$0] ?? [] })
    return found.sorted().map { texts[$0] }.filter { isOneEdit($0, text) }
  }

  private static func keys(_ text: String) -> Set<[UInt8]> {
    let bytes = Array(text.utf8)
    return Set([bytes] + bytes.indices.map { Array(bytes[..<$0] + bytes[($0 + 1)...]) })
  }
}
