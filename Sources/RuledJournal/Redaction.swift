import RuledCore
import RuledJSON

/// Replaces values in the data of events with digests, also where they occur in outcomes.
struct Redaction: Sendable {
  private let paths: [[String]]
  /// The shortest text in bytes that is also replaced in outcomes; shorter ones occur by chance.
  private static let shortest = 6

  /// Redacts the values at these paths in `data`, names separated by dots; nil if there are none.
  init?(_ paths: [String]) {
    guard !paths.isEmpty else { return nil }
    self.paths = paths.map { $0.split(separator: ".").map(String.init) }
  }

  /// Calls `body` with a redacted copy of an entry, or with the entry itself if it has none of the paths.
  func apply(to view: EntryView, _ body: (EntryView) -> Void) {
    guard let event = try? JSONValue(parsing: view.text), let data = event["data"], data.objectValue != nil else {
      return body(view)
    }
    var redacted = data
    var found: [String] = []
    var texts: [(old: [UInt8], new: [UInt8])] = []
    for path in paths {
      if let next = Self.replace(redacted, path[...], &texts) {
        redacted = next
        found.append(path.joined(separator: "."))
      }
    }
    guard !found.isEmpty, var object = event.objectValue else { return body(view) }
    object["data"] = redacted
    let text = ByteBuffer(capacity: view.text.count + 64)
    JSONValue.object(object).write(to: text)
    let names = ByteBuffer(capacity: 64)
    for name in found {
      names.append(contentsOf: name)
      names.append(0)
    }
    let parts = view.parts
    let results = ByteBuffer(capacity: view.results.count + 64)
    for part in [parts.decisions, parts.effects, parts.failures] {
      let replaced = Self.replace(in: part, texts)
      JournalRecord.write(replaced.bytes, into: results)
      withExtendedLifetime(replaced) {}
    }
    var copy = view
    copy.text = text.bytes
    copy.redacted = names.bytes
    copy.results = results.bytes
    body(copy)
    withExtendedLifetime((text, names, results)) {}
  }

  /// The value with the one at `path` replaced; nil if there is none.
  private static func replace(
    _ value: JSONValue, _ path: ArraySlice<String>, _ texts: inout [(old: [UInt8], new: [UInt8])]
  ) -> JSONValue? {
    guard let name = path.first else {
      if case .null = value { return nil }
      let digest = JSONValue.string("sha256:" + String(SHA256.hash(value.text).hex.prefix(32)))
      if value.stringValue.map({ $0.utf8.count >= shortest }) ?? false {
        texts.append((Array(value.text.utf8), Array(digest.text.utf8)))
      }
      return digest
    }
    guard var object = value.objectValue, let member = object[name],
      let next = replace(member, path.dropFirst(), &texts)
    else { return nil }
    object[name] = next
    return .object(object)
  }

  /// JSON with some strings replaced; `texts` have their quotes.
  private static func replace(
    in bytes: ByteView, _ texts: [(old: [UInt8], new: [UInt8])]
  ) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: bytes.count + 64)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\""), let text = texts.first(where: { bytes[index...].starts(with: $0.old) }) {
        text.new.withView { buffer.append($0) }
        index += text.old.count
      } else {
        buffer.append(bytes[index])
        index += 1
      }
    }
    return buffer
  }
}
