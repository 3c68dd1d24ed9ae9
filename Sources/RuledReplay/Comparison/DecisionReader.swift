import RuledCore
import RuledJSON

struct Decision {
  /// Its plugin and its key.
  var name: QualifiedName
  /// Its value as JSON.
  var value: [UInt8]
  /// The numbers in its value, each with the path to it.
  var numbers: [(path: String, value: Double)]

  /// The value as it is listed: one that is longer than a report can show is a string of its beginning.
  var shown: [UInt8] {
    guard value.count > Self.mostShown else { return value }
    let buffer = ByteBuffer(capacity: Self.mostShown + 64)
    buffer.append(jsonString: value.prefix(Self.mostShown - 64).text + "…")
    return Array(buffer.bytes)
  }

  private static let mostShown = 1024
}

final class DecisionReader {
  /// How many paths to numbers each key may have.
  static let mostPaths = 64
  private static let mostDepth = 8

  private let document = TapeDocument()
  private let text = ByteBuffer(capacity: 1024)

  /// The decisions in the members of an object of plugins, in their order.
  func read(_ decisions: [UInt8]) -> [Decision] {
    guard !decisions.isEmpty else { return [] }
    text.removeAll()
    text.append("{" as StaticString)
    decisions.withView { text.append($0) }
    text.append("}" as StaticString)
    guard let root = try? document.parse(copyOf: text.bytes), root.isKind(.object) else { return [] }
    var found: [Decision] = []
    var plugins = MemberCursor(root, text: document.text)
    while let plugin = plugins.next() {
      guard plugin.value.isKind(.object) else { continue }
      let name = plugin.name.text
      var keys = MemberCursor(plugin.value, text: plugin.text)
      while let key = keys.next() {
        var decision = Decision(name: QualifiedName(name, key.name.text), value: Array(key.text), numbers: [])
        collectNumbers(of: key.value, at: "", depth: 0, into: &decision.numbers)
        found.append(decision)
      }
    }
    return found
  }

  /// Collects numbers with their paths: `earned`, `profile.points`, `items[].price`; the path of a value that is a number is empty.
  private func collectNumbers(
    of value: TapeValue, at path: String, depth: Int, into numbers: inout [(path: String, value: Double)]
  ) {
    guard depth < Self.mostDepth else { return }
    switch value.kind {
    case .integer, .unsigned, .number:
      if let number = value.double { numbers.append((path, number)) }
    case .object:
      var members = value.members
      while let (name, member) = members.next() {
        let name = name.text
        collectNumbers(of: member, at: path.isEmpty ? name : "\(path).\(name)", depth: depth + 1, into: &numbers)
      }
    case .array:
      for element in value.children { collectNumbers(of: element, at: "\(path)[]", depth: depth + 1, into: &numbers) }
    default: break
    }
  }
}
