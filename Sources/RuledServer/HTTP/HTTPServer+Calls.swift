import RuledCore
import RuledJSON
import RuledWire

/// From routes to JSON-RPC requests.
extension HTTPServer {
  /// The requests that the route and what came with it stand for.
  func calls(_ route: HTTPRoute, _ exchange: HTTPExchange) throws(HTTPRefusal) -> HTTPCalls {
    do throws(RequestError) {
      switch route {
      case .events: break
      case .query(let name):
        guard HTTPContent.isJSON(exchange.headers["content-type"]) else { break }
        return single(try query(name, exchange.body.bytes), owner: owner(of: exchange.body.bytes))
      case .subjects: return try list(.subjects, exchange)
      case .parked: return try list(.parked, exchange)
      case .counters: return try list(.counters, exchange)
      case .rules: return try list(.rules, exchange)
      case .subject(let subject) where exchange.method == "DELETE": return try about(subject, .forget, JSONObject())
      case .subject(let subject):
        return try about(subject, .state, RequestText.members(of: exchange.target, for: .state))
      case .export(let subject): return try about(subject, .export, JSONObject())
      case .reload: return single(try RequestText.make(.reload, JSONObject()), owner: anyWorker())
      case .retry(let id): return single(try RequestText.make(.retry, ["parked": .string(id)]), owner: anyWorker())
      case .parkedEvent(let id): return single(try RequestText.make(.drop, ["parked": .string(id)]), owner: anyWorker())
      case .watch, .health, .metrics, .dashboard: throw RequestError(.unknownMethod, "there is nothing at this path")
      }
    } catch { throw HTTPRefusal(error) }
    if case .events = route { return try events(exchange) }
    throw HTTPRefusal(RequestError(.invalidRequest, "the content type must be application/json"), status: 415)
  }

  private func single(_ text: [UInt8], owner: Int) -> HTTPCalls {
    HTTPCalls([.init(text: text, owner: owner)], isBatch: false)
  }

  private func list(_ method: Method, _ exchange: HTTPExchange) throws(RequestError) -> HTTPCalls {
    single(try RequestText.make(method, RequestText.members(of: exchange.target, for: method)), owner: anyWorker())
  }

  private func about(_ subject: String, _ method: Method, _ members: JSONObject) throws(RequestError) -> HTTPCalls {
    var members = members
    members["subject"] = .string(subject)
    return single(try RequestText.make(method, members), owner: services.owner(of: Array(subject.utf8)))
  }

  // MARK: Queries

  private func query(_ name: String, _ body: UnsafeRawBufferPointer) throws(RequestError) -> [UInt8] {
    let object = body.isEmpty ? nil : try parser.value(body)
    guard object == nil || object?.kind == .object else { throw .invalidParams(path: "params", "must be an object") }
    return try RequestText.make(.query, capacity: body.count) { buffer in
      buffer.append("{\"name\":" as StaticString)
      buffer.append(jsonString: name)
      for member in ["subject", "args"] as [StaticString] where object?.member(member) != nil {
        buffer.append(",\"" as StaticString)
        buffer.append(member)
        buffer.append("\":" as StaticString)
        buffer.append(body.rawMember(member))
      }
      buffer.append(UInt8(ascii: "}"))
    }
  }

  /// The worker of the subject that the parsed body names.
  private func owner(of body: UnsafeRawBufferPointer) -> Int {
    guard !body.isEmpty, let object = try? parser.value(body) else { return anyWorker() }
    return owner(of: object)
  }

  private func owner(of object: TapeValue) -> Int {
    object.member("subject")?.string.map { services.owner(of: $0) } ?? anyWorker()
  }

  // MARK: Events

  private func events(_ exchange: HTTPExchange) throws(HTTPRefusal) -> HTTPCalls {
    let headers = exchange.headers
    let body = exchange.body.bytes
    let content = HTTPContent(contentType: headers["content-type"], hasAttributes: !headers.attributes.isEmpty)
    do throws(RequestError) {
      switch content {
      case .structured:
        return single(try event(body), owner: owner(of: body))
      case .binary:
        let event = ByteBuffer(capacity: body.count + 256)
        try BinaryEvent.write(headers, body: body, parser: parser, to: event)
        return single(try self.event(event.bytes), owner: owner(of: event.bytes))
      case .batch:
        let root = try parser.value(body)
        guard root.kind == .array else { throw .invalidParams(path: "params", "must be an array of events") }
        var calls: [HTTPCalls.Call] = []
        var cursor = ElementCursor(root, text: body)
        while let element = cursor.next() {
          guard calls.count < services.context.configuration.limits.inFlight else { throw services.batchTooLong }
          let text = try RequestText.make(.event, capacity: element.text.count) { $0.append(element.text) }
          calls.append(.init(text: text, owner: owner(of: element.value)))
        }
        return HTTPCalls(calls, isBatch: true)
      case .unsupported: break
      }
    } catch { throw HTTPRefusal(error) }
    throw HTTPRefusal(
      RequestError(
        .invalidRequest,
        "the content type must be application/json, application/cloudevents+json or application/cloudevents-batch+json"),
      status: 415)
  }

  private func event(_ text: UnsafeRawBufferPointer) throws(RequestError) -> [UInt8] {
    _ = try parser.value(text)
    return try RequestText.make(.event, capacity: text.count) { $0.append(text) }
  }
}
