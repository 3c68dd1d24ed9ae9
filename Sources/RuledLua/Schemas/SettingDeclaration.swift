import RuledCore
import RuledJSON

/// A plugin's declaration of one of its settings: `setting "freezes.every_days" { type = "integer", min = 1 }`.
package struct SettingDeclaration: Sendable {
  /// How a list is sorted.
  struct Order: Sendable {
    /// Members of each element, the first of which decides that two elements both have with different values; nil for the elements themselves.
    let members: [String?]
    let isDescending: Bool
  }

  /// The keys down to it; `*` is each key of a table, or each element of a list.
  let keys: [String]
  let type: SettingType
  /// Whether it may be missing or an empty text.
  let isOptional: Bool
  /// The least and the greatest of a number, of a duration in seconds, of a text's characters, of a list's elements.
  let least: Double?
  let greatest: Double?
  /// The values that it may have; empty for any.
  let choices: [JSONValue]
  let order: Order?
  /// The keys for which a `*` at the end stands, besides those of the plugin's own settings; nil for any.
  let names: [String]?
  /// Its purpose, in a sentence; may be empty.
  package let about: String
  /// The index of its check; nil if it has none.
  let check: Int?
  package let file: String
  package let line: Int

  package var path: String { keys.joined(separator: ".") }

  /// Its type as the plugin writes it.
  package var typeText: String { type.text + (isOptional ? "?" : "") }

  /// The type of all its values; nil if an empty text may stand for one of another type.
  var dataType: DataType? {
    guard case .data(let type) = type else { return .string }
    if isOptional, case .string = type { return type }
    return isOptional ? nil : type
  }

  /// The values of the type that it may have, in words; empty for any.
  package var limits: String {
    if !choices.isEmpty { return "one of \(choices.map(\.text).joined(separator: ", "))" }
    return [
      least.map { "\(Self.text($0)) or more" }, greatest.map { "at most \(Self.text($0))" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension SettingDeclaration {
  /// Whether it declares the path of these keys.
  func declares(_ keys: [String]) -> Bool { self.keys.count == keys.count && covers(keys) }

  /// Whether it declares the path of these keys, or one within.
  func covers(_ keys: [String]) -> Bool {
    guard self.keys.count >= keys.count else { return false }
    return zip(self.keys, keys).enumerated().allSatisfy { depth, key in
      key.0 == key.1 || key.0 == "*" && (depth < self.keys.count - 1 || names?.contains(key.1) ?? true)
    }
  }

  /// The declared keys in the table at a depth.
  func names(at depth: Int) -> [String] { keys[depth] == "*" ? names ?? [] : [keys[depth]] }

  /// The path where a value differs from its declaration, and the problem; nil if it does not.
  func mismatch(_ value: JSONValue, at path: SettingPath, zones: ZoneDatabase) -> SettingMismatch? {
    if isOptional, value.stringValue == "" { return nil }
    if let found = type.mismatch(value, at: path, zones: zones) { return found }
    if !choices.isEmpty, !choices.contains(value) {
      return SettingMismatch(path, "must be \(limits), not \(value.shown)")
    }
    guard let (size, what, unit) = size(of: value) else { return nil }
    if let least, size < least {
      return SettingMismatch(path, "\(what) at least \(Self.text(least))\(unit), not \(Self.text(size))")
    }
    if let greatest, size > greatest {
      return SettingMismatch(path, "\(what) at most \(Self.text(greatest))\(unit), not \(Self.text(size))")
    }
    return nil
  }

  /// The measure that `least` and `greatest` limit, with the beginning of a message and the unit.
  private func size(of value: JSONValue) -> (Double, what: String, unit: String)? {
    switch (type, value) {
    case (.text(.duration), .string(let text)):
      let duration = DurationText.parse(text, allowsZero: true) ?? 0
      return (Double(duration) / Double(Limits.second), "must be", " seconds")
    case (_, .string(let text)): return (Double(text.count), "must have a length of", "")
    case (_, .array(let all)): return (Double(all.count), "must have a length of", "")
    case (.data(.array), _) where value.isEmptyTable: return (0, "must have a length of", "")
    default: return value.doubleValue.map { ($0, "must be", "") }
    }
  }

  private static func text(_ number: Double) -> String { Int64(exactly: number).map { "\($0)" } ?? "\(number)" }
}

extension SettingDeclaration.Order {
  /// The list in this order.
  ///
  /// By one member, elements without it come first; by several, those that share none stay as they stand.
  ///
  /// - Complexity: O(*n* log *n*) by one member, and O(*n*²) by several, which do not order all elements among each other.
  func sorted(_ list: [JSONValue]) -> [JSONValue] {
    guard members.count > 1 else {
      return list.enumerated().sorted { left, right in
        precedes(left.element, right.element)
          || !precedes(right.element, left.element) && left.offset < right.offset
      }.map(\.element)
    }
    var rest = list
    var sorted: [JSONValue] = []
    while !rest.isEmpty {
      // Where all are preceded, as members contradict each other, the first one is as good as any.
      let next = rest.firstIndex { one in !rest.contains { precedes($0, one) } } ?? 0
      sorted.append(rest.remove(at: next))
    }
    return sorted
  }

  private func precedes(_ left: JSONValue, _ right: JSONValue) -> Bool {
    for member in members {
      let (first, second) = (Self.key(of: left, member), Self.key(of: right, member))
      let isShared = members.count == 1 || first.kind > 0 && second.kind > 0
      if isShared, first != second { return isDescending ? second < first : first < second }
    }
    return false
  }

  /// The value to compare by: none before numbers, and these before texts.
  private static func key(of element: JSONValue, _ member: String?) -> (kind: Int, number: Double, text: String) {
    let value = member.map { element[$0] } ?? element
    if let number = value?.doubleValue { return (1, number, "") }
    return value?.stringValue.map { (2, 0, $0) } ?? (0, 0, "")
  }
}
