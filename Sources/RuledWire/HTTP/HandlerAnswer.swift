package import RuledCore

package enum HandlerAnswer: Sendable {
  /// The plugin has no handler for the sink: the effect is sent as it is.
  case none
  case request(HandlerRequest)
  /// The effect must not be delivered any more, for this reason.
  case expired(String)
  /// The handler failed; the text shows nothing of the effect's data.
  case failed(String)
  /// The plugin is not loaded.
  case absent
}

package struct HandlerRequest: Sendable {
  /// The receiver; nil for the URL in the sink's configuration.
  package var url: String?
  package var method: String
  /// The header fields, as the handler writes them.
  package var headers: [(name: String, value: String)] = []
  package var body: [UInt8]

  package init(url: String? = nil, method: String = "POST", body: [UInt8] = []) {
    self.url = url
    self.method = method
    self.body = body
  }

  /// The request as `lease` hands it out.
  package var json: JSONValue {
    .members([
      "method": .string(method), "url": url.map(JSONValue.string),
      "headers": .object(JSONObject(headers.map { ($0.name, .string($0.value)) })),
      "body": .string(body.text),
    ])
  }
}

extension HandlerAnswer {
  private static let members = ["url", "method", "headers", "body"]
  private static let methods = ["POST", "PUT", "PATCH", "DELETE", "GET"]

  /// Reads a handler's results: `[request]` or `[null, reason]`.
  package init(_ results: JSONValue) {
    guard let first = results[0], !first.isNull else {
      self = .expired(results[1]?.stringValue ?? "no reason given")
      return
    }
    guard let members = first.objectValue else {
      self = .failed("the answer is neither a request nor nil")
      return
    }
    var request = HandlerRequest()
    for (name, value) in members {
      switch (name, value) {
      case ("url", .string(let url)): request.url = url
      case ("method", .string(let method)) where Self.methods.contains(method.uppercased()):
        request.method = method.uppercased()
      case ("body", .string(let body)): request.body = Array(body.utf8)
      case ("headers", .object(let headers)):
        for (name, value) in headers {
          guard let text = value.stringValue ?? value.intValue.map({ String($0) }), Self.isHeader(name, text) else {
            self = .failed("a header of the request can't be sent")
            return
          }
          request.headers.append((name, text))
        }
      case ("url", .null), ("method", .null), ("body", .null), ("headers", .null): continue
      case ("headers", .array(let none)) where none.isEmpty: continue
      case ("url", _), ("method", _), ("body", _), ("headers", _):
        self = .failed("the request's \(name) can't be used")
        return
      default:
        let known = "known are \(Self.members.joined(separator: ", "))"
        self = .failed("the request has an unknown member\(NearestName.hint(name, in: Self.members, otherwise: known))")
        return
      }
    }
    self = .request(request)
  }

  private static func isHeader(_ name: String, _ value: String) -> Bool {
    name.utf8.isToken && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}
