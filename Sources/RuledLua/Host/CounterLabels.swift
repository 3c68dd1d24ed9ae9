import CLuaBridge
package import RuledCore
import RuledJSON

/// The labels of counters as Prometheus knows them: its names, and text that is not empty.
package enum CounterLabels {
  /// The name under which Prometheus has a label.
  package static func name(_ name: String) -> String {
    name.withSlice { name in
      String(unsafeUninitializedCapacity: name.length + 6) { text in
        text.withMemoryRebound(to: CChar.self) { $0.baseAddress.map { rb_label_name(name, $0) } ?? 0 }
      }
    }
  }

  /// The labels of a stored counter as `count` writes them; older builds stored them as rules gave them.
  ///
  /// Of several labels that are one for Prometheus the first counts.
  package static func normalized(_ labels: ByteView) -> [UInt8] {
    guard let value = try? JSONValue(parsing: labels) else { return Array(labels) }
    var members = value.objectValue?.members ?? []
    for (index, element) in (value.arrayValue ?? []).enumerated() { members.append(("\(index + 1)", element)) }
    var texts: [String: String] = [:]
    for member in members {
      let text = member.value == .null ? "" : member.value.stringValue ?? member.value.text
      let name = name(member.name)
      if !text.isEmpty, texts[name] == nil { texts[name] = text }
    }
    let sorted = texts.sorted { $0.key < $1.key }.map { (name: $0.key, value: JSONValue.string($0.value)) }
    return Array(JSONValue.object(JSONObject(sorted)).text.utf8)
  }
}
