package import RuledCore
import RuledJSON

/// Replaces values in the data of events with digests, also in outcomes, and later in the rules' messages and timers.
///
/// A message or a timer whose data has redacted values of the event that sent it lists them in its member `redact`. So they are redacted in its
/// entry too, whatever the members of its data are called.
package struct Redaction: Sendable {
  private let paths: [[String]]
  /// The names of which an outcome contains one if it has one of the paths.
  private let names: [[UInt8]]

  /// Redacts the values at these paths in `data`, names separated by dots; nil if there are none.
  ///
  /// A path leads through each element of an array.
  package init?(_ paths: [String]) {
    guard !paths.isEmpty else { return nil }
    self.paths = paths.map { $0.split(separator: ".").map(String.init) }
    names = self.paths.compactMap(\.last).map { Array($0.utf8) }
  }

  /// The members of effects and of failures that don't come from an event's data.
  private static let fixed: Set<String> = ["id", "plugin", "sink", "type", "rule", "kind", "file", "line"]
  private static let none: Set<String> = []

  /// The redacted values of one event or entry, and their paths.
  private struct Found {
    var secrets = RedactedValues()
    var paths: [String] = []
  }

  /// The redacted values of an event; nil if there are none.
  ///
  /// Unless the event is a client's, they include those of the event that led to it.
  package func values(in event: ByteView, isFromClient: Bool) -> RedactedValues? {
    guard let event = (try? JSONValue(parsing: event))?.objectValue else { return nil }
    var found = Found()
    if let data = event["data"] { _ = replaced(in: data, &found) }
    if !isFromClient { for value in Self.noted(by: event) { found.secrets.add(value) } }
    guard !found.secrets.isEmpty else { return nil }
    found.secrets.sort()
    return found.secrets
  }

  private static func noted(by event: JSONObject) -> [JSONValue] { event[RedactedValues.member]?.arrayValue ?? [] }

  /// Calls `body` with a redacted copy of an entry, or with the entry itself if it has nothing to redact.
  func apply(to view: EntryView, _ body: (EntryView) -> Void) {
    guard var event = (try? JSONValue(parsing: view.text))?.objectValue else { return body(view) }
    var found = Found()
    if let data = event["data"], let next = replaced(in: data, &found) { event["data"] = next }
    let parts = view.parts
    let decisions = redacted(decisions: parts.decisions, &found)
    let effects = redacted(effects: parts.effects, &found)
    let noted = view.origin == .client ? [] : Self.noted(by: event)
    for value in noted { found.secrets.add(value) }
    guard !found.secrets.isEmpty else { return body(view) }
    found.secrets.sort()
    if !noted.isEmpty {
      event[RedactedValues.member] = nil
      if let data = event["data"] { event["data"] = found.secrets.replaced(in: data, &found.paths) }
    }
    let text = ByteBuffer(capacity: view.text.count + 64)
    JSONValue.object(event).write(to: text)
    let timer = found.secrets.replaced(inName: view.timer)
    if timer != nil { found.paths.append("timer") }
    let paths = ByteBuffer(capacity: 64)
    for path in found.paths {
      paths.append(contentsOf: path)
      paths.append(0)
    }
    let results = ByteBuffer(capacity: view.results.count + 64)
    for (part, names) in [
      (decisions?.bytes ?? parts.decisions, Self.none), (effects?.bytes ?? parts.effects, Self.fixed),
      (parts.failures, Self.fixed),
    ] {
      let replaced = found.secrets.replaced(in: part, except: names)
      EntryHead.write(replaced.bytes, into: results)
      withExtendedLifetime(replaced) {}
    }
    var copy = view
    copy.text = text.bytes
    copy.redacted = paths.bytes
    copy.timer = timer?.bytes ?? view.timer
    copy.results = results.bytes
    body(copy)
    withExtendedLifetime((text, timer, paths, results, decisions, effects)) {}
  }

  // MARK: Outcomes

  /// Decisions with the values at the paths replaced, among their keys and in their values; nil if there are none.
  private func redacted(decisions: ByteView, _ found: inout Found) -> ByteBuffer? {
    guard mayConcern(decisions), var plugins = Self.parse("{", decisions, "}")?.objectValue else { return nil }
    var isFound = false
    for (plugin, decided) in plugins {
      var decided = decided
      if let next = replaced(in: decided, &found) { (decided, isFound) = (next, true) }
      guard var keys = decided.objectValue else { continue }
      for (key, value) in keys {
        if let next = replaced(in: value, &found) { (keys[key], isFound) = (next, true) }
      }
      plugins[plugin] = .object(keys)
    }
    return isFound ? Self.contents(of: .object(plugins)) : nil
  }

  /// Effects with the values at the paths in their data replaced; nil if there are none.
  private func redacted(effects: ByteView, _ found: inout Found) -> ByteBuffer? {
    guard mayConcern(effects), var all = Self.parse("[", effects, "]")?.arrayValue else { return nil }
    var isFound = false
    for index in all.indices {
      guard var effect = all[index].objectValue, let data = effect["data"], let next = replaced(in: data, &found) else {
        continue
      }
      effect["data"] = next
      all[index] = .object(effect)
      isFound = true
    }
    return isFound ? Self.contents(of: .array(all)) : nil
  }

  /// Whether a part of an outcome may have one of the paths.
  private func mayConcern(_ part: ByteView) -> Bool {
    names.contains { name in name.withView { part.firstOffset(of: $0) != nil } }
  }

  private static func parse(_ opening: String, _ part: ByteView, _ closing: String) -> JSONValue? {
    try? JSONValue(parsing: opening + part.text + closing)
  }

  /// The text between the brackets of an object or an array.
  private static func contents(of value: JSONValue) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: 256)
    buffer.append(contentsOf: String(value.text.dropFirst().dropLast()))
    return buffer
  }

  // MARK: Paths

  /// A copy of a value with the values at the paths replaced; nil if there are none.
  private func replaced(in value: JSONValue, _ found: inout Found) -> JSONValue? {
    var replaced: JSONValue?
    for path in paths {
      guard let next = Self.replace(replaced ?? value, path[...], &found.secrets) else { continue }
      replaced = next
      let name = path.joined(separator: ".")
      if !found.paths.contains(name) { found.paths.append(name) }
    }
    return replaced
  }

  /// A copy of a value with the values at `path` replaced; nil if there are none.
  private static func replace(
    _ value: JSONValue, _ path: ArraySlice<String>, _ secrets: inout RedactedValues
  ) -> JSONValue? {
    guard let name = path.first else {
      if case .null = value { return nil }
      secrets.add(value)
      return .string(RedactedValues.digest(of: value))
    }
    if let elements = value.arrayValue {
      var isFound = false
      let replaced = elements.map { element in
        guard let next = replace(element, path, &secrets) else { return element }
        isFound = true
        return next
      }
      return isFound ? .array(replaced) : nil
    }
    guard var object = value.objectValue, let member = object[name],
      let next = replace(member, path.dropFirst(), &secrets)
    else { return nil }
    object[name] = next
    return .object(object)
  }
}
