package import RuledCore
import RuledJSON

package struct CountersParams: Sendable, Equatable {
  /// The beginning of the counters' names; empty for all.
  package let prefix: String
  /// The labels that a counter must have, in the order given.
  package let labels: [Label]

  package struct Label: Sendable, Equatable {
    package let name: String
    /// The label's value as text; a number or boolean as JSON has it.
    package let value: String
  }

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    prefix = try reader.string("prefix") ?? ""
    guard let value = reader.value("labels") else {
      labels = []
      return
    }
    guard value.kind == .object else { throw reader.error("labels", "must be an object") }
    labels = try Self.read(value, text: request.paramsText.rawMember("labels"))
  }

  private static func read(_ object: TapeValue, text: ByteView) throws(RequestError) -> [Label] {
    var labels: [String: (place: Int, value: String)] = [:]
    var cursor = MemberCursor(object, text: text)
    var place = 0
    while let member = cursor.next() {
      let name = String(decoding: member.name, as: UTF8.self)
      place += 1
      if member.value.kind == .null {
        labels[name] = nil
        continue
      }
      guard !member.value.isContainer else {
        throw .invalidParams(path: JSONPath.member("params.labels", member.name), "must be a string")
      }
      labels[name] = (place, String(decoding: member.value.string ?? member.text, as: UTF8.self))
    }
    return labels.sorted { $0.value.place < $1.value.place }.map { Label(name: $0.key, value: $0.value.value) }
  }
}
