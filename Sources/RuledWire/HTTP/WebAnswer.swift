package import RuledCore

/// The response that a `web` handler describes with `{status, headers, body}`.
package struct WebAnswer: Sendable {
  package struct Refusal: Error {
    package let reason: String
  }

  package let status: Int
  package let headers: [(name: String, value: String)]
  package let body: [UInt8]

  private static let members = ["status", "headers", "body"]
  /// Fields that the server sets itself.
  private static let reservedFields: Set<String> = [
    "connection", "content-length", "transfer-encoding", "upgrade", "date",
  ]

  /// Reads a handler's results, `[answer]`; a refusal says why the answer can't be sent.
  package static func read(_ results: JSONValue) -> Result<WebAnswer, Refusal> {
    func refusal(_ reason: String) -> Result<WebAnswer, Refusal> { .failure(Refusal(reason: reason)) }
    guard let answer = results[0]?.objectValue else { return refusal("it is no table with status, headers and body") }
    if let name = answer.names.first(where: { !members.contains($0) }) {
      let known = "known are \(members.joined(separator: ", "))"
      return refusal("it has an unknown member '\(name)'\(NearestName.hint(name, in: members, otherwise: known))")
    }
    guard let status = status(answer["status"]) else { return refusal("status is no whole number from 200 to 599") }
    guard let headers = headers(answer["headers"] ?? .null) else { return refusal("a header is not valid") }
    let body = answer["body"] ?? .null
    guard body.isNull || body.stringValue != nil else { return refusal("body is no string") }
    return .success(WebAnswer(status: status, headers: headers, body: Array((body.stringValue ?? "").utf8)))
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
        guard let text = fieldValue(value) else { return nil }
        if !reservedFields.contains(name) { headers.append((name, text)) }
      }
    }
    return headers
  }

  private static func fieldValue(_ value: JSONValue) -> String? {
    switch value {
    case .string(let text): text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } ? nil : text
    case .integer, .number: value.text
    default: nil
    }
  }
}
