import RuledCore
import RuledJSON
import RuledJournal
import RuledWire

/// Which entries of the journal a request wants, and how the protocol shows them.
struct LogQuery {
  private let params: LogParams
  let range: JournalRange

  init(_ params: LogParams, now: Timestamp) {
    self.params = params
    var range = JournalRange()
    range.first = UInt64(params.after) + 1
    range.since = params.since?.timestamp(now: now)
    range.until = params.until?.timestamp(now: now)
    range.subject = params.subject
    self.range = range
  }

  func wants(_ entry: JournalEntry) -> Bool {
    if params.failures, entry.failures.isEmpty { return false }
    if params.decision != nil || params.plugin != nil, !decides(entry) { return false }
    guard let type = params.type else { return true }
    return (Self.json(entry.event)?["type"]?.stringValue).map { type.matches($0) } ?? false
  }

  /// Whether the wanted plugin took part, and the wanted decision was made, by that plugin if one is wanted.
  private func decides(_ entry: JournalEntry) -> Bool {
    let decisions = Self.json([UInt8(ascii: "{")] + entry.decisions + [UInt8(ascii: "}")])?.objectValue ?? [:]
    if let decision = params.decision {
      return decisions.contains { plugin, made in
        guard params.plugin.map({ $0 == plugin }) ?? true, let value = made[decision.key] else { return false }
        return decision.values.map { $0.contains(where: value.isSame) } ?? true
      }
    }
    guard let plugin = params.plugin else { return true }
    return decisions[plugin] != nil || entry.plugin == plugin
      || [entry.effects, entry.failures].contains { elements in
        Self.json([UInt8(ascii: "[")] + elements + [UInt8(ascii: "]")])?.arrayValue?.contains {
          $0["plugin"]?.stringValue == plugin
        } ?? false
      }
  }

  private static func json(_ bytes: [UInt8]) -> JSONValue? { try? JSONValue(parsing: bytes.text) }
}

extension JournalEntry {
  /// Appends the entry as `log` shows it.
  func write(to buffer: ByteBuffer) {
    var json = JSONWriter(buffer)
    json.beginObject()
    json.member("sequence", sequence)
    json.member("at", at.exactRFC3339)
    if now != at { json.member("now", now.exactRFC3339) }
    json.member("subject", subject)
    json.member("version", version)
    json.member("revision", revision)
    json.member("origin", origin.rawValue)
    if !plugin.isEmpty { json.member("plugin", plugin) }
    if !timer.isEmpty { json.member("timer", timer) }
    json.member("event")
    if origin == .kept {
      json.raw { buffer in Array(subject.utf8).withView { KeptEvent.writeShown(of: $0, into: buffer) } }
    } else {
      json.raw { buffer in event.withView { buffer.append($0) } }
    }
    for (name, opening, bytes, closing) in [
      ("decisions", "{", decisions, "}"), ("effects", "[", effects, "]"), ("failures", "[", failures, "]"),
    ] as [(StaticString, StaticString, [UInt8], StaticString)] {
      json.member(name)
      json.raw { buffer in
        buffer.append(opening)
        bytes.withView { buffer.append($0) }
        buffer.append(closing)
      }
    }
    json.member("digest")
    json.value(
      .object(
        JSONObject(digests.map { (name: $0.plugin, value: JSONValue.string($0.state.digits(16, radix: 16))) })))
    if !redacted.isEmpty {
      json.member("redacted")
      json.value(.array(redacted.map { .string($0) }))
    }
    json.endObject()
  }
}
