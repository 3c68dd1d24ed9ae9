package import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// Data of an engine for tests and tools: queries, states, effects and decisions, the store.
extension LocalEngine {
  /// Answers a query by its full name, `plugin.query`.
  package func query(_ name: String, subject: String?, arguments: JSONValue?) throws(RequestError) -> JSONValue {
    let document = TapeDocument()
    let text = ByteBuffer(capacity: 64)
    var value: TapeValue?
    if let arguments, !arguments.isNull {
      arguments.write(to: text)
      value = try? document.parse(copyOf: text.bytes)
    }
    let reply = ByteBuffer(capacity: 512)
    let bytes = ByteBuffer(capacity: 64)
    if let subject { bytes.append(contentsOf: subject) }
    try evaluator.query(name, subject: subject == nil ? nil : bytes.bytes, arguments: value, into: reply)
    withExtendedLifetime(document) {}
    withExtendedLifetime(bytes) {}
    return (try? JSONValue(parsing: reply.bytes)) ?? .null
  }

  package func state(of subject: String, plugin: String) throws(RequestError) -> JSONValue? {
    let found = try evaluator.subjects.fetchSubject(Array(subject.utf8))
    guard let state = try evaluator.subjects.record(of: found)?.state(of: plugin) else { return nil }
    let text = ByteBuffer(capacity: 256)
    plugin.withView { evaluator.show(state, of: $0, found, to: text) }
    return try? JSONValue(parsing: text.bytes)
  }

  /// How many events were committed for a subject.
  package func version(of subject: String) throws(RequestError) -> UInt64 {
    let found = try evaluator.subjects.fetchSubject(Array(subject.utf8))
    return try evaluator.subjects.record(of: found)?.version ?? 0
  }

  /// The effects of a subject so far, in order, those for the client included: each as a sink gets it.
  package func effects(of subject: String) -> [JSONValue] {
    zip(changes, times).filter { $0.0.subject.elementsEqual(subject.utf8) }.flatMap { change, time -> [JSONValue] in
      let text = "{" + change.members.text + "}"
      return Self.delivered((try? JSONValue(parsing: text))?["effects"]?.arrayValue ?? [], of: subject, at: time)
    }
  }

  /// The effects of an outcome as sinks get them.
  package static func delivered(_ effects: [JSONValue], of subject: String, at time: Timestamp) -> [JSONValue] {
    effects.map { effect in
      var effect = effect.objectValue ?? [:]
      effect["subject"] = .string(subject)
      effect["at"] = .string(time.rfc3339)
      return .object(effect)
    }
  }

  /// All counters, as a query's `counters("")` gives them.
  package var listedCounters: JSONValue {
    .array(
      evaluator.counters(prefix: "").map { counter in
        let labels = (try? JSONValue(parsing: counter.key.labels)) ?? [:]
        return .object(["name": .string(counter.key.name), "labels": labels, "value": counter.value.json])
      })
  }

  /// The decisions of all plugins on the last event of a subject, by plugin; nil when it had none.
  package func decided(of subject: String) -> JSONValue? {
    guard let last = changes.last(where: { $0.subject.elementsEqual(subject.utf8) }) else { return nil }
    return (try? JSONValue(parsing: "{" + last.members.text + "}"))?["decisions"]
  }

  /// All places of a plugin's board, as `board.top` gives them.
  package func board(_ name: String, of plugin: String) -> JSONValue {
    let text = ByteBuffer(capacity: 1024)
    name.withView {
      context.boards.write(.top(.max, from: 1), of: $0, of: plugin, at: now.microseconds, into: text)
    }
    return (try? JSONValue(parsing: text.bytes)) ?? .array([])
  }

  /// The content of the store, for comparisons.
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
