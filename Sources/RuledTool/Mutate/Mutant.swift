/// One change of a file of the rules, which a test should notice.
struct Mutant: Sendable {
  let file: String
  let line: Int
  let range: Range<Int>
  let replacement: String
  /// The original text, in one line.
  let original: String

  /// The change as `a == b` → `a ~= b`.
  var text: String { "\(original)  →  \(replacement)" }

  func apply(to text: [UInt8]) -> [UInt8] {
    Array(text[..<range.lowerBound]) + Array(replacement.utf8) + Array(text[range.upperBound...])
  }
}
