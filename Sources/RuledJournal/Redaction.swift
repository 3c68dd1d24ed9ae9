import RuledCore
import RuledJSON

/// Replaces values in the data of events with digests, also where they occur in outcomes.
struct Redaction: Sendable {
  private let paths: [[String]]

  /// Redacts the values at these paths in `data`, names separated by dots; nil if there are none.
  ///
  /// A path leads through each element of an array.
  init?(_ paths: [String]) {
    guard !paths.isEmpty else { return nil }
    self.paths = paths.map { $0.split(separator: ".").map(String.init) }
  }

  /// The members of effects and of failures that don't come from an event's data.
  private static let fixed: Set<String> = ["id", "plugin", "sink", "type", "rule", "kind", "file", "line"]
  private static let none: Set<String> = []

  /// Calls `body` with a redacted copy of an entry, or with the entry itself if it has none of the paths.
  func apply(to view: EntryView, _ body: (EntryView) -> Void) {
    guard let event = try? JSONValue(parsing: view.text), let data = event["data"] else { return body(view) }
    var redacted = data
    var found: [String] = []
    var secrets = RedactedValues()
    for path in self.paths {
      if let next = Self.replace(redacted, path[...], &secrets) {
        redacted = next
        found.append(path.joined(separator: "."))
      }
    }
    guard !found.isEmpty, var object = event.objectValue else { return body(view) }
    object["data"] = redacted
    let text = ByteBuffer(capacity: view.text.count + 64)
    JSONValue.object(object).write(to: text)
    let paths = ByteBuffer(capacity: 64)
    for path in found {
      paths.append(contentsOf: path)
      paths.append(0)
    }
    secrets.sort()
    let parts = view.parts
    let results = ByteBuffer(capacity: view.results.count + 64)
    for (part, names) in [(parts.decisions, Self.none), (parts.effects, Self.fixed), (parts.failures, Self.fixed)] {
      let replaced = secrets.replaced(in: part, except: names)
      JournalRecord.write(replaced.bytes, into: results)
      withExtendedLifetime(replaced) {}
    }
    var copy = view
    copy.text = text.bytes
    copy.redacted = paths.bytes
    copy.results = results.bytes
    body(copy)
    withExtendedLifetime((text, paths, results)) {}
  }

  /// The value with those at `path` replaced; nil if there is none.
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
