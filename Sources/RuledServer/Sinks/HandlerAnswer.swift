import RuledCore

/// What a plugin's `sink` handler makes of an effect.
enum HandlerAnswer: Sendable {
  /// The plugin has no handler for the sink: the effect goes out as it is.
  case none
  /// The request that delivers it.
  case request(HandlerRequest)
  /// It is not to be delivered any more, and why.
  case expired(String)
  /// The handler failed, in words that show none of the effect's data.
  case failed(String)
  /// The plugin is not loaded.
  case absent
}

extension HandlerAnswer {
  private static let methods = ["POST", "PUT", "PATCH", "DELETE", "GET"]

  /// Reads `[request]` or `[null, why]`.
  init(_ results: JSONValue) {
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
        self = .failed("the request has an unknown member; known are url, method, headers and body")
        return
      }
    }
    self = .request(request)
  }

  private static func isHeader(_ name: String, _ value: String) -> Bool {
    let separators: StaticString = "\"(),/:;<=>?@[\\]{}"
    let special = UnsafeBufferPointer(start: separators.utf8Start, count: separators.utf8CodeUnitCount)
    return !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !special.contains($0) }
      && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}
