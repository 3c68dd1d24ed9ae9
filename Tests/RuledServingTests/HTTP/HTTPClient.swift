import IOTestSupport
import RuledCore
import RuledJSON

@testable import RuledServing

/// Speaks HTTP over a test client's socket, one response after the other.
final class HTTPClient {
  struct Response {
    let status: Int
    let headers: [String: String]
    let body: String

    var json: JSONValue? { try? JSONValue(parsing: body) }
  }

  let client: Client
  private var buffered: [UInt8] = []

  init(_ client: Client) { self.client = client }

  /// Sends a request; a body is JSON unless `headers` say otherwise.
  func send(_ method: String, _ target: String, _ body: String? = nil, _ headers: [String: String] = [:]) {
    var fields = ["Host": "localhost"]
    if let body {
      fields["Content-Type"] = "application/json"
      fields["Content-Length"] = String(body.utf8.count)
    }
    fields.merge(headers) { $1 }
    let head = fields.map { "\($0.key): \($0.value)\r\n" }.joined()
    client.send("\(method) \(target) HTTP/1.1\r\n\(head)\r\n\(body ?? "")")
  }

  /// Sends a request and receives its response.
  func ask(_ method: String, _ target: String, _ body: String? = nil, _ headers: [String: String] = [:]) -> Response? {
    send(method, target, body, headers)
    return receive(hasBody: method != "HEAD")
  }

  /// The next response, or nil when the connection ended before.
  func receive(hasBody: Bool = true) -> Response? {
    guard let status = line()?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
    let headers = fields()
    let length = hasBody ? headers["content-length"].flatMap { Int($0) } ?? 0 : 0
    while buffered.count < length, more() {}
    let body = String(decoding: buffered.prefix(length), as: UTF8.self)
    buffered.removeFirst(min(length, buffered.count))
    return Response(status: status, headers: headers, body: body)
  }

  /// Header fields up to the empty line, names in lower case.
  func fields() -> [String: String] {
    var fields: [String: String] = [:]
    while let line = line(), !line.isEmpty {
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      fields[line[..<colon].lowercased()] = String(line[colon...].dropFirst().drop { $0 == " " })
    }
    return fields
  }

  /// The next lines of an event stream that are fields; comments and chunk sizes are skipped.
  func streamLines(_ count: Int) -> [String] {
    var lines: [String] = []
    while lines.count < count, let line = line() {
      if ["event:", "id:", "data:"].contains(where: { line.hasPrefix($0) }) { lines.append(line) }
    }
    return lines
  }

  private func line() -> String? {
    while true {
      if let end = buffered.firstIndex(of: 10) {
        let line = buffered[..<end].filter { $0 != 13 }
        buffered.removeFirst(end + 1)
        return String(decoding: line, as: UTF8.self)
      }
      guard more() else { return nil }
    }
  }

  private func more() -> Bool {
    let part = client.receive()
    buffered += part
    return !part.isEmpty
  }
}
