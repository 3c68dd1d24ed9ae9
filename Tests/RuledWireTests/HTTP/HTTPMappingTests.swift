import RuledCore
import Testing

@testable import RuledWire

@Suite struct HTTPMappingTests {
  @Test(arguments: [
    ("/a/b?x=1?2#f", "/a/b", "x=1?2"), ("/", "/", ""), ("?q", "/", "q"), ("http://u@H:1/p?q", "/p", "q"),
    ("https://h", "/", ""),
  ])
  func `a target is taken apart and not decoded`(_ raw: String, _ path: String, _ query: String) {
    let target = HTTPTarget(raw)
    #expect(target.path == path)
    #expect(target.query == query)
  }

  @Test func `in the API's query strings a plus is a space, for sites it stays`() {
    let target = HTTPTarget("/v1/subjects?prefix=a+b%2Bc&x+y=")
    #expect(target.formParameters.map(\.name) == ["prefix", "x y"] && target.formParameters[0].value == "a b+c")
    #expect(target.parameters.map(\.name) == ["prefix", "x+y"] && target.parameters[0].value == "a+b+c")
    #expect(JSONRPCRequest.params(of: target, for: .subjects) == ["prefix": "a b+c"])
  }

  @Test(arguments: [
    ("A.example.:80", "a.example"), ("a", "a"), ("[::1]:8080", "[::1]"), ("[::1]", "[::1]"), ("a.:", "a"), ("", ""),
  ])
  func `hosts are compared without case, port and trailing dot`(_ host: String, _ normalized: String) {
    #expect(HTTPHost.normalized(host) == normalized)
  }

  @Test(arguments: [
    ("/v1/subjects/a%2Fb", HTTPRoute(.subject, "a/b")), ("/v1/subjects/a/export", HTTPRoute(.export, "a")),
    ("/", HTTPRoute(.dashboard)), ("/v1/query/p.q.r", HTTPRoute(.query, "p.q.r")),
    ("/v1/parked/1/retry", HTTPRoute(.retry, "1")), ("/v1/rules/reload", HTTPRoute(.reload)),
    ("/livez", HTTPRoute(.alive)), ("/readyz", HTTPRoute(.ready)), ("/v1/subjects/a/b", nil), ("/v1/subjects/", nil),
    ("/v2/events", nil), ("*", nil), ("/v1/events/", nil),
  ])
  func `a path leads to its route`(_ path: String, _ route: HTTPRoute?) {
    #expect(HTTPRoute(HTTPTarget(path)) == route)
  }

  @Test(arguments: [
    ("text/plain", "aé", #""datacontenttype":"text/plain","data":"aé""#),
    ("image/png", "ab", #""datacontenttype":"image/png","data_base64":"YWI=""#),
    ("application/x+json", "[1]", #""datacontenttype":"application/x+json","data":[1]"#),
  ])
  func `a binary event's body is its data`(_ type: String, _ body: String, _ members: String) throws {
    var headers = HTTPHeaders()
    headers.append("CE-Type", "t")
    headers.append("Content-Type", type)
    let buffer = ByteBuffer()
    let text = Array(body.utf8)
    try text.withView { try BinaryEvent.write(headers, body: $0, parser: RequestParser(), to: buffer) }
    #expect(buffer.text == #"{"type":"t",\#(members)}"#)
  }

  @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")])
  func `base64 is that of RFC 4648`(_ text: String, _ encoded: String) {
    let buffer = ByteBuffer()
    Array(text.utf8).withView { Base64.encode($0, to: buffer) }
    #expect(buffer.text == encoded)
  }
}
