internal import RuledCore
internal import RuledEngine

/// Replaces names of subjects, ids, addresses and free text with others, the same each time the same comes.
///
/// Words without spaces stay, as rules tell cases apart by them, unless they look like an id, an address or a number of a person. So does what
/// stands in the rules themselves, such as the name of a subject that they send messages to.
struct Anonymizer {
  private let rules: String
  private var replaced: [String: String] = [:]
  /// How the names of subjects begin, up to the colon.
  private var prefixes: Set<String> = []

  /// An anonymizer of what happened under these rules.
  init(rules: RulesSource) {
    let files = rules.plugins.flatMap(\.modules) + (rules.plugins.first?.library ?? [])
    self.rules = files.map { String(decoding: $0.text, as: UTF8.self) }.joined(separator: "\n")
  }
  private var counts: [String: Int] = [:]

  /// A subject by another name with the same prefix.
  mutating func subject(_ name: String) -> String {
    if let known = replaced[name] { return known }
    if isInRules(name) { return name }
    let prefix = name.firstIndex(of: ":").map { String(name[...$0]) } ?? ""
    prefixes.insert(prefix)
    let other = next("\(prefix)subject-")
    replaced[name] = other
    let bare = String(name.dropFirst(prefix.count))
    if !prefix.isEmpty, replaced[bare] == nil { replaced[bare] = String(other.dropFirst(prefix.count)) }
    return other
  }

  /// An event or a decision with everything personal replaced.
  mutating func value(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): return .string(self.text(text))
    case .array(let elements): return .array(elements.map { self.value($0) })
    case .object(let object):
      return .object(JSONObject(object.map { (name: self.text($0.name), value: self.value($0.value)) }))
    case .null, .bool, .integer, .number: return value
    }
  }

  /// An event: its subject, id and data are replaced, its type, source and times stay.
  mutating func event(_ event: JSONObject) -> JSONObject {
    var other = event
    if let name = event["subject"]?.stringValue { other["subject"] = .string(subject(name)) }
    if let id = event["id"]?.stringValue { other["id"] = .string(replacement(id, "event-")) }
    for (name, member) in event where !["type", "subject", "id", "source", "time"].contains(name) {
      other[name] = value(member)
    }
    return other
  }

  private mutating func text(_ text: String) -> String {
    if let known = replaced[text] { return known }
    if Timestamp(rfc3339: text) != nil || isInRules(text) { return text }
    if let colon = text.firstIndex(of: ":"), prefixes.contains(String(text[...colon])) { return subject(text) }
    if text.contains("@"), text.contains(".") { return replacement(text, "person", "@example.com") }
    if text.contains(where: \.isWhitespace) { return replacement(text, "some text ") }
    let digits = text.utf8.count { (0x30...0x39).contains($0) }
    let parts = text.split(separator: ".")
    if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) { return replacement(text, "192.0.2.") }
    if text.hasPrefix("+"), digits >= 7 { return replacement(text, "+1555010") }
    if text.utf8.count >= 12, digits >= 4, !text.contains("://") { return replacement(text, "id-") }
    return text
  }

  private func isInRules(_ text: String) -> Bool { rules.contains("\"\(text)\"") || rules.contains("'\(text)'") }

  private mutating func replacement(_ text: String, _ stem: String, _ end: String = "") -> String {
    if let known = replaced[text] { return known }
    let other = next(stem) + end
    replaced[text] = other
    return other
  }

  private mutating func next(_ stem: String) -> String {
    counts[stem, default: 0] += 1
    return "\(stem)\(counts[stem] ?? 0)"
  }
}
