package import RuledCore
import RuledJSON

/// Writes the JSON-RPC request that an HTTP request stands for.
package enum RequestText {
  /// The request with the params that `params` appends.
  package static func make(
    _ method: Method, capacity: Int = 256, _ params: (ByteBuffer) throws(RequestError) -> Void
  ) throws(RequestError) -> [UInt8] {
    let buffer = ByteBuffer(capacity: capacity + 64)
    buffer.append("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"" as StaticString)
    buffer.append(method.name)
    buffer.append("\",\"params\":" as StaticString)
    try params(buffer)
    buffer.append(UInt8(ascii: "}"))
    return Array(buffer.bytes)
  }

  /// The request with these params.
  package static func make(_ method: Method, _ params: JSONObject) throws(RequestError) -> [UInt8] {
    try make(method) { JSONValue.object(params).write(to: $0) }
  }

  /// The members that a query's parameters stand for; those that are empty are absent.
  ///
  /// `limit` and `after` of `watch` are numbers, `plugins` is a list with commas, `labels` is JSON; what is no number or no JSON
  /// stays a string, which the method then refuses.
  package static func members(of target: HTTPTarget, for method: Method) -> JSONObject {
    var members = JSONObject()
    for (name, value) in target.parameters where !value.isEmpty {
      switch name {
      case "limit": members[name] = number(value)
      case "after" where method == .watch: members[name] = number(value)
      case "plugins": members[name] = .array(value.split(separator: ",").map { .string(String($0)) })
      case "labels": members[name] = (try? JSONValue(parsing: value)) ?? .string(value)
      default: members[name] = .string(value)
      }
    }
    return members
  }

  /// The number that `text` is, or the text.
  package static func number(_ text: String) -> JSONValue { Int64(text).map { .integer($0) } ?? .string(text) }
}
