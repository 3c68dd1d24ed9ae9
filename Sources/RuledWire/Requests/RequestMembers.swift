import RuledCore

/// The members of a request object while it is read; of repeated ones the last counts.
struct RequestMembers {
  private var version: TapeValue?
  private var method: TapeValue?
  private var params: TapeValue?
  private var paramsText: UnsafeRawBufferPointer?
  private var id: TapeValue?
  private var idText: UnsafeRawBufferPointer?

  /// A request without members.
  init() {}

  /// Keeps `member` if it belongs to a request.
  mutating func take(_ member: MemberCursor.Member) {
    switch member.name.count {
    case 2 where member.name.equals("id"): (id, idText) = (member.value, member.text)
    case 6 where member.name.equals("params"): (params, paramsText) = (member.value, member.text)
    case 6 where member.name.equals("method"): method = member.value
    case 7 where member.name.equals("jsonrpc"): version = member.value
    default: break
    }
  }

  /// The request that the members make.
  var message: RequestMessage {
    if let id, id.isContainer || id.bool != nil {
      return .invalid(id: nil, RequestMessage.error("“id” is a string, a number or null."))
    }
    guard let version, version.isString("2.0") else { return invalid("“jsonrpc” must be \"2.0\".") }
    guard let name = method?.string else { return invalid("“method” must be a string.") }
    if let params, !params.isContainer { return invalid("“params” must be an object or an array.") }
    return .request(
      RequestView(
        id: idText, method: Method(name), methodName: name, params: params,
        paramsText: paramsText ?? Self.noParams))
  }

  private func invalid(_ message: String) -> RequestMessage {
    .invalid(id: idText, RequestMessage.error(message))
  }

  private static var noParams: UnsafeRawBufferPointer {
    let text: StaticString = "{}"
    return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
