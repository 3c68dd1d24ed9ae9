import RuledCore
import RuledWire

/// What a plugin's `web` handler answers.
enum WebAnswer {
  /// Those fields are the server's.
  private static let framing: Set<String> = ["connection", "content-length", "transfer-encoding", "upgrade", "date"]

  /// The response that the answer describes, or nil where it describes none.
  static func response(_ answer: JSONValue?) -> HTTPResponse? {
    guard let answer = answer?.objectValue, let status = status(answer["status"]) else { return nil }
    guard let headers = headers(answer["headers"] ?? .null) else { return nil }
    var response = HTTPResponse(status, json: [])
    switch answer["body"] ?? .null {
    case .null: break
    case .string(let body): response.body = Array(body.utf8)
    default: return nil
    }
    response.headers = headers
    if !response.body.isEmpty, !headers.contains(where: { $0.name == "content-type" }) {
      response.headers.append(("content-type", "text/plain; charset=utf-8"))
    }
    return response
  }

  private static func status(_ value: JSONValue?) -> Int? {
    guard let value else { return 200 }
    guard let number = value.doubleValue, (200...599).contains(number), number == number.rounded() else { return nil }
    return Int(number)
  }

  private static func headers(_ value: JSONValue) -> [(name: String, value: String)]? {
    if value.isNull || value.arrayValue?.isEmpty == true { return [] }
    guard let object = value.objectValue else { return nil }
    var headers: [(name: String, value: String)] = []
    for member in object {
      let name = member.name.lowercased()
      guard name.utf8.isToken else { return nil }
      for value in member.value.arrayValue ?? [member.value] {
        guard let text = text(value) else { return nil }
        if !framing.contains(name) { headers.append((name, text)) }
      }
    }
    return headers
  }

  private static func text(_ value: JSONValue) -> String? {
    switch value {
    case .string(let text): text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } ? nil : text
    case .integer, .number: value.text
    default: nil
    }
  }
}
