package import RuledCore
import RuledStore

extension LocalEngine {
  /// Answers a query by its full name, `plugin.query`.
  package func query(_ name: String, subject: String?, arguments: JSONValue?) throws(RequestError) -> JSONValue {
    let document = EventDocument()
    if let arguments, !arguments.isNull { _ = document.parse(Array(arguments.text.utf8)) }
    let place = arguments == nil || arguments?.isNull == true ? 0 : 1
    let reply = ByteBuffer(capacity: 512)
    let bytes = ByteBuffer(capacity: 64)
    if let subject { bytes.append(contentsOf: subject) }
    try evaluator.handlers.query(
      name, subject: subject == nil ? nil : bytes.bytes, document: place == 0 ? nil : document.handle, arguments: place,
      into: reply)
    withExtendedLifetime(bytes) {}
    return (try? JSONValue(parsing: reply.bytes)) ?? .null
  }

  /// A plugin's state for a subject; nil when it has none.
  package func state(of subject: String, plugin: String) throws(RequestError) -> JSONValue? {
    let bytes = ByteBuffer(capacity: 64)
    bytes.append(contentsOf: subject)
    let found = try evaluator.subjects.load(bytes.bytes)
    withExtendedLifetime(bytes) {}
    guard let state = try evaluator.subjects.record(of: found)?.state(of: plugin) else { return nil }
    return try? JSONValue(parsing: state)
  }

  /// How many events were committed for a subject.
  package func version(of subject: String) throws(RequestError) -> UInt64 {
    let bytes = ByteBuffer(capacity: 64)
    bytes.append(contentsOf: subject)
    let found = try evaluator.subjects.load(bytes.bytes)
    withExtendedLifetime(bytes) {}
    return try evaluator.subjects.record(of: found)?.version ?? 0
  }

  /// The effects that were recorded for a subject so far, in their order, those for the client among them.
  package func effects(of subject: String) -> [JSONValue] {
    changes.filter { $0.subject.elementsEqual(subject.utf8) }.flatMap { change -> [JSONValue] in
      let text = "{" + String(decoding: change.members, as: UTF8.self) + "}"
      return (try? JSONValue(parsing: text))?["effects"]?.arrayValue ?? []
    }
  }

  /// All that the store holds, for comparisons.
  package func contents() throws(RequestError) -> [(key: [UInt8], value: [UInt8])] {
    var found: [(key: [UInt8], value: [UInt8])] = []
    do throws(StoreError) {
      try context.store.scan(from: [], to: nil) { key, value in
        found.append((Array(key), Array(value)))
        return true
      }
    } catch { throw error.requestError }
    return found
  }
}
