internal import RuledCore
internal import RuledEngine
internal import RuledLua
internal import RuledReports

/// Replaces every string and number of events and states that does not stand in the rules, and equal ones by equal replacements.
///
/// A replacement has the same form, letters for letters, digits for digits, a date for a date, and says nothing of the original. Values by which
/// rules tell cases apart stay: the rules' own words and numbers, truth values, numbers of one digit, and times about when the events happened.
struct Anonymizer {
  private let rules: RuleWords
  /// The patterns of sources that plugins take.
  private let sources: [GlobPattern]
  /// The paths that stay: `data.plan`, `state.game.points`, or the name of an attribute.
  private let kept: [[Substring]]
  /// Those at which nothing was yet.
  private(set) var absent: Set<[Substring]>
  /// When the events happened, in microseconds.
  private let times: ClosedRange<Int64>
  private var replaced: [String: String] = [:]
  /// The same for numbers without their sign that are not replaced as texts.
  private var numbers: [String: String] = [:]
  /// All originals, so that no replacement is one of them by chance.
  private var originals: Set<String> = []
  /// How the names of subjects begin, up to the colon.
  private var prefixes: Set<String> = []
  private var counts: [String: Int] = [:]
  private var draws = 0

  /// How far from the events a time or a day may be that stays, in microseconds.
  private static let near: Int64 = 100 * 86_400_000_000
  /// How far a number may be in an event's data, where a telephone's may look like a time.
  private static let close: Int64 = 86_400_000_000
  /// The shortest word with one replacement wherever it stands: single letters would be a code that can be broken.
  private static let shortest = 3

  /// An anonymizer of a test under these rules, which keeps the values at some paths.
  init(_ test: CapturedTest, under catalog: Catalog, keeping paths: [String] = []) {
    rules = RuleWords(catalog.source)
    sources = catalog.plugins.flatMap(\.manifest.sources)
    kept = paths.map { $0.split(separator: ".") }.filter { !$0.isEmpty }
    absent = Set(kept)
    var moments: [Int64] = []
    for step in test.steps { if case .at(let time) = step { moments.append(time.microseconds) } }
    times = (moments.min() ?? 0)...(moments.max() ?? 0)
    for step in test.steps {
      switch step {
      case .given(let subject, _, let states, let items):
        note(.string(subject))
        note(.object(states))
        note(.object(items))
        for timer in items["timers"]?.arrayValue ?? [] { noteSource(of: timer) }
      case .event(let event, _):
        note(.object(event))
        noteSource(of: .object(event))
      default: break
      }
    }
  }

  /// Replaces an event's source before any state that has the same text: another one may be a source that no plugin takes.
  private mutating func noteSource(of event: JSONValue) {
    if let text = event["source"]?.stringValue { _ = source(text) }
  }

  private mutating func note(_ value: JSONValue) {
    value.forEachLeaf { leaf in
      originals.insert(leaf.brief)
      let parts = leaf.stringValue.map(Self.parts) ?? []
      originals.formUnion(parts.filter { $0.count >= Self.shortest })
    }
  }

  // MARK: Subjects and events

  /// A subject by another name with the same prefix.
  mutating func subject(_ name: String) -> String {
    if let known = replaced[name] { return known }
    if rules.strings.contains(name) { return name }
    let prefix = name.firstIndex(of: ":").map { String(name[...$0]) } ?? ""
    prefixes.insert(prefix)
    let other = next("\(prefix)subject-")
    replaced[name] = other
    let bare = String(name.dropFirst(prefix.count))
    if !prefix.isEmpty, replaced[bare] == nil { replaced[bare] = String(other.dropFirst(prefix.count)) }
    return other
  }

  /// The replacement of an id; nil if it has not come yet.
  func known(_ id: String) -> String? { replaced[id] }

  /// An event with replacements for everything but its type, its time and its content type.
  mutating func event(_ event: JSONObject) -> JSONObject {
    var other = identity(event)
    if let name = event["subject"]?.stringValue { other["subject"] = .string(subject(name)) }
    for (name, member) in event where !Self.replacedByName.contains(name) { other[name] = value(member, at: [name]) }
    return other
  }

  /// An event, or a timer, with another id, source and trace.
  private mutating func identity(_ event: JSONObject) -> JSONObject {
    var other = event
    if let id = event["id"]?.stringValue { other["id"] = .string(replacement(id, "event-")) }
    if let text = event["source"]?.stringValue { other["source"] = .string(source(text)) }
    if let trace = event["traceparent"]?.stringValue { other["traceparent"] = .string(self.trace(trace)) }
    other["tracestate"] = nil
    return other
  }

  static func canKeep(_ path: String) -> Bool {
    let parts = path.split(separator: ".")
    return parts.first.map { ["data", "state"].contains($0) } == true
      || parts.count == 1 && !replacedByName.contains(path)
  }

  /// Another source that the same patterns match, with other text for their `*`; the source itself if there is none.
  private mutating func source(_ text: String) -> String {
    if let known = replaced[text] { return known }
    if rules.strings.contains(text) { return text }
    let name = next("source-"), matched = sources.map { $0.matches(text) }
    let others = (["/*"] + sources.map(\.text)).map { $0.replacing("*", with: name) }
    let other = others.first { other in sources.map { $0.matches(other) } == matched }
    replaced[text] = other ?? text
    return other ?? text
  }

  private static let replacedByName: Set<String> = [
    "type", "subject", "id", "source", "time", "datacontenttype", "traceparent", "tracestate",
  ]

  /// The context of another trace, in the form that the W3C gives it.
  private mutating func trace(_ text: String) -> String {
    let number = replacement(text, "").suffix(16)
    let id = String(repeating: "0", count: 16 - number.count) + number
    return "00-0000000000000000\(id)-\(id)-01"
  }

  mutating func states(_ states: JSONObject) -> JSONObject {
    JSONObject(states.map { (name: $0.name, value: value($0.value, at: ["state", $0.name])) })
  }

  /// The timers, the `once` keys and the topics of a subject; their due times and their expiries stay.
  mutating func items(_ items: JSONObject) -> JSONObject {
    JSONObject(
      items.map { name, list in
        let others = (list.arrayValue ?? []).map { item -> JSONValue in
          if let topic = item.stringValue { return .string(self.topic(topic)) }
          var other = identity(item.objectValue ?? [:])
          for name in ["name", "key"] { other[name] = other[name]?.stringValue.map { .string(text($0)) } }
          other["data"] = other["data"].map { value($0, at: ["data"]) }
          return .object(other)
        }
        return (name: name, value: .array(others))
      })
  }

  /// A topic, `plugin/name`, whose plugin stays.
  private mutating func topic(_ topic: String) -> String {
    let parts = topic.split(separator: "/", maxSplits: 1)
    return parts.count == 2 ? "\(parts[0])/\(text(String(parts[1])))" : topic
  }

  // MARK: Values

  /// The value at a path, which begins with the name of an event's attribute or with `state`.
  private mutating func value(_ value: JSONValue, at path: [String]) -> JSONValue {
    let keeping = kept.filter { path.starts(with: $0) { $0 == $1 } }
    absent.subtract(keeping)
    guard keeping.isEmpty else { return value }
    switch value {
    case .string(let text): return .string(self.text(text))
    case .array(let elements): return .array(elements.map { self.value($0, at: path) })
    case .object(let object):
      return .object(
        JSONObject(object.map { (name: self.name($0.name), value: self.value($0.value, at: path + [$0.name])) }))
    case .integer, .number: return number(value, isInState: path.first == "state")
    case .null, .bool: return value
    }
  }

  /// The name of a member: a rule's own word, or a name from outside, such as a subject.
  private mutating func name(_ name: String) -> String { rules.names.contains(name) ? name : text(name) }

  private mutating func number(_ value: JSONValue, isInState: Bool) -> JSONValue {
    guard let number = value.doubleValue, !rules.numbers.contains(abs(number)) else { return value }
    if abs(number) < 10, number == number.rounded() { return value }
    if isNear(number, isInState: isInState) { return value }
    let text = value.text
    let digits = text.hasPrefix("-") ? String(text.dropFirst()) : text
    let sign = digits.count < text.count ? "-" : ""
    let known = replaced[digits].flatMap { $0.allSatisfy(\.isNumber) ? $0 : nil } ?? numbers[digits]
    let other = known ?? fresh { $0.number(like: digits) }
    numbers[digits] = other
    return (try? JSONValue(parsing: sign + other)) ?? 0
  }

  /// Whether a number is a time in seconds or parts of them, or in a state a day, about when the events happened.
  private func isNear(_ number: Double, isInState: Bool) -> Bool {
    let room = isInState ? Self.near : Self.close
    let seconds = Double(times.lowerBound - room) / 1e6...Double(times.upperBound + room) / 1e6
    if [1, 1e3, 1e6, 1e9].contains(where: { seconds.contains(number / $0) }) { return true }
    return isInState && number == number.rounded() && seconds.contains(number * 86_400)
  }

  private mutating func text(_ text: String) -> String {
    if let known = replaced[text] { return known }
    if rules.strings.contains(text) { return text }
    if let date = Self.date(text) {
      let isNear = (times.lowerBound - Self.near...times.upperBound + Self.near).contains(date.microseconds)
      return isNear ? text : remembered(text) { $0.date(like: text) }
    }
    if let colon = text.firstIndex(of: ":"), prefixes.contains(String(text[...colon])) { return subject(text) }
    if text.contains("@"), text.contains("."), !text.contains(where: \.isWhitespace) {
      return replacement(text, "person", "@example.com")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) { return replacement(text, "192.0.2.") }
    return remembered(text) { $0.words(like: text) }
  }

  /// When a text is a date, or a date with a time.
  private static func date(_ text: String) -> Timestamp? {
    Timestamp(rfc3339: text) ?? Timestamp(rfc3339: text + "T00:00:00Z")
  }

  // MARK: Replacements

  /// A new value of `make`, which is no original and no earlier replacement.
  private mutating func fresh(_ make: (inout Anonymizer) -> String) -> String {
    var other = make(&self)
    for _ in 0..<100 where originals.contains(other) || rules.strings.contains(other) { other = make(&self) }
    originals.insert(other)
    return other
  }

  /// The replacement of a text: the known one, or from now on a value of `make`.
  private mutating func remembered(_ text: String, _ make: (inout Anonymizer) -> String) -> String {
    if let known = replaced[text] { return known }
    let other = fresh(make)
    replaced[text] = other
    return other
  }

  private mutating func words(like text: String) -> String {
    let parts = Self.parts(of: text)
    if parts.count == 1, text.first?.isLetter == true || text.first?.isNumber == true { return word(like: text) }
    var rest = text[...]
    return parts.map { part in
      rest = rest.dropFirst(part.count)
      guard let first = part.first, first.isLetter || first.isNumber else { return part }
      if rules.words.contains(part) || rest.hasPrefix("://") { return part }
      if part.count < Self.shortest { return word(like: part) }
      return remembered(part) { $0.word(like: part) }
    }.joined()
  }

  /// Letters for letters, of the same case, and digits for digits.
  private mutating func word(like word: String) -> String {
    if word.allSatisfy({ $0.isASCII && $0.isNumber }) { return number(like: word) }
    return String(word.map { $0.isNumber ? digit(0...9) : letter(isUppercase: $0.isUppercase) })
  }

  /// Other digits, of which the first is no larger; an exponent stays, and a whole number stays one.
  private mutating func number(like text: String) -> String {
    if text.hasSuffix(".0") { return number(like: String(text.dropLast(2))) + ".0" }
    var other = ""
    for (index, character) in text.enumerated() {
      guard character != "e", character != "E" else { return other + text.dropFirst(index) }
      guard let value = character.wholeNumberValue else {
        other.append(character)
        continue
      }
      other.append(index > 0 ? digit(0...9) : value == 0 ? "0" : digit(1...value))
    }
    return other
  }

  /// Another date in the same form, of which the time of the day is midnight.
  private mutating func date(like text: String) -> String {
    "19\(digit(5...9))\(digit(0...9))-0\(digit(1...9))-\(digit(1...2))\(digit(0...8))"
      + String(text.dropFirst(10).map { $0.isNumber ? "0" : $0 })
  }

  private mutating func digit(_ range: ClosedRange<Int>) -> Character {
    Character("\(range.lowerBound + draw() % range.count)")
  }

  private mutating func letter(isUppercase: Bool) -> Character {
    let letter = Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(draw() % 26)))
    return isUppercase ? Character(letter.uppercased()) : letter
  }

  /// The next number of a series that is the same for each test, and so tells nothing of the originals.
  private mutating func draw() -> Int {
    draws += 1
    return Int("\(draws)".withView { hash64($0, seed: 0) } >> 16)
  }

  private mutating func replacement(_ text: String, _ stem: String, _ end: String = "") -> String {
    remembered(text) { $0.next(stem) + end }
  }

  private mutating func next(_ stem: String) -> String {
    counts[stem, default: 0] += 1
    return "\(stem)\(counts[stem] ?? 0)"
  }

  /// The words and numbers of a text, and the parts between them.
  private static func parts(of text: String) -> [String] {
    var parts: [String] = []
    var kind: Int?
    for character in text {
      let next = character.isLetter ? 0 : character.isNumber ? 1 : 2
      if next == kind, let last = parts.indices.last {
        parts[last].append(character)
      } else {
        parts.append(String(character))
      }
      kind = next
    }
    return parts
  }
}

/// The words, texts and numbers in rules and their data.
struct RuleWords {
  private(set) var strings: Set<String> = []
  private(set) var words: Set<String> = []
  /// Names of variables and members, and all that may be one.
  private(set) var names: Set<String> = []
  /// Numbers, without their sign.
  private(set) var numbers: Set<Double> = []

  init(_ rules: RulesSource) {
    for file in rules.plugins.flatMap(\.modules) + (rules.plugins.first?.library ?? []) {
      guard let tree = try? SyntaxTree(parsing: file.text) else { continue }
      tree.root.forEach { node in
        switch node.kind {
        case .string: add(node.text)
        case .name: names.insert(node.text)
        case .number:
          if let number = Double(String(decoding: file.text[node.range], as: UTF8.self)) { numbers.insert(number) }
        default: break
        }
      }
    }
    for file in rules.plugins.flatMap(\.data) {
      if let value = try? JSONValue(parsing: String(decoding: file.text, as: UTF8.self)) { add(value) }
    }
  }

  private mutating func add(_ text: String) {
    strings.insert(text)
    names.insert(text)
    for word in text.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) where word.count > 1 {
      words.insert(String(word))
    }
  }

  private mutating func add(_ value: JSONValue) {
    value.forEachLeaf { leaf in
      if let text = leaf.stringValue { add(text) }
      if let number = leaf.doubleValue { numbers.insert(abs(number)) }
    }
  }
}

extension JSONValue {
  /// Calls `body` with the values in it that hold no others, and with the names of members.
  fileprivate func forEachLeaf(_ body: (JSONValue) -> Void) {
    switch self {
    case .array(let elements): for element in elements { element.forEachLeaf(body) }
    case .object(let object):
      for member in object {
        body(.string(member.name))
        member.value.forEachLeaf(body)
      }
    default: body(self)
    }
  }
}
