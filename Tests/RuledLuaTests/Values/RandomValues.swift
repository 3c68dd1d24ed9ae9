import RuledCore
import TestSupport

/// Values that may be stored, the same for the same seed, with members in byte order as the encoder writes them.
struct RandomValues {
  indirect enum Value {
    case scalar(String)
    case array([Value])
    case object([(name: Text, value: Value)])
  }

  /// A text as it is and as it stands in JSON.
  struct Text {
    var raw = ""
    var escaped = ""
  }

  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func object(depth: Int) -> Value {
    var members: [(name: Text, value: Value)] = []
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      let name = text()
      if !members.contains(where: { $0.name.raw.utf8.elementsEqual(name.raw.utf8) }) {
        members.append((name, value(depth: depth + 1)))
      }
    }
    return .object(members.sorted { $0.name.raw.utf8.lexicographicallyPrecedes($1.name.raw.utf8) })
  }

  private mutating func value(depth: Int) -> Value {
    switch Int.random(in: 0...(depth > 6 ? 5 : 8), using: &random) {
    case 0: return .scalar(["true", "false", "null"].randomElement(using: &random) ?? "null")
    case 1: return .scalar("\(Int64.random(in: .min ... .max, using: &random))")
    case 2: return .scalar("\(Int.random(in: -10...10, using: &random))")
    case 3:
      return .scalar(
        ["0.5", "-1.25", "3.0", "-0.0", "1e+100", "1.5e-07", "123456789.25"].randomElement(using: &random) ?? "0.5")
    case 4, 5: return .scalar("\"\(text().escaped)\"")
    case 6: return .array((0..<Int.random(in: 0...6, using: &random)).map { _ in value(depth: depth + 1) })
    default: return object(depth: depth)
    }
  }

  private mutating func text() -> Text {
    let pieces = [
      ("a", "a"), ("B", "B"), ("z", "z"), ("é", "é"), ("漢", "漢"), ("😀", "😀"), ("\n", "\\n"), ("\"", "\\\""),
      ("\\", "\\\\"),
      ("\u{1}", "\\u0001"), (" ", " "), ("0", "0"), ("/", "/"), ("\u{7f}", "\u{7f}"), ("\0", "\\u0000"),
    ]
    var text = Text()
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      let piece = pieces[Int.random(in: pieces.indices, using: &random)]
      text.raw += piece.0
      text.escaped += piece.1
    }
    return text
  }

  func text(of value: Value) -> String {
    switch value {
    case .scalar(let text): text
    case .array(let items): "[" + items.map { text(of: $0) }.joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\"\($0.name.escaped)\":\(text(of: $0.value))" }.joined(separator: ",") + "}"
    }
  }
}
