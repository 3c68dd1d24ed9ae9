import RuledCore
import RuledJSON
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

  @Test func `of many parameters each name counts once, with its first value`() {
    let query = (0..<200_000).map { "a\($0)=1&a\($0)=2" }.joined(separator: "&")
    let parameters = HTTPTarget("/p?\(query)").parameters
    #expect(parameters.count == 200_000 && parameters.allSatisfy { $0.value == "1" })
    #expect(parameters.last?.name == "a199999")
  }

  @Test(
    arguments: [
      ([], true), (["identity"], true), (["Identity, identity"], true), (["gzip"], false), (["identity, br"], false),
      (["identity", "gzip"], false),
    ] as [([String], Bool)])
  func `a body is plain unless a field says how it is encoded`(_ encodings: [String], _ isPlain: Bool) {
    var headers = HTTPHeaders()
    for encoding in encodings { headers.append("Content-Encoding", encoding.utf8) }
    #expect(headers.isPlainBody == isPlain)
  }

  @Test(
    arguments: [("%ff", nil), ("a%C3", nil), ("%C3%A9", "é"), ("100%", "100%"), ("%zz", "%zz"), ("%2525", "%25")]
      as [(String, String?)])
  func `an attribute in a header is percent-encoded UTF-8`(_ value: String, _ subject: String?) throws {
    var headers = HTTPHeaders()
    headers.append("ce-type", "t".utf8)
    headers.append("ce-subject", value.utf8)
    let buffer = ByteBuffer()
    func write() throws(RequestError) {
      try BinaryEvent.write(headers, body: .empty, parser: RequestParser(), to: buffer)
    }
    guard let subject else {
      let error = #expect(throws: RequestError.self) { try write() }
      #expect(error?.details["path"] == .string("params.subject"))
      return
    }
    try write()
    #expect(try JSONValue(parsing: buffer.text)["subject"] == .string(subject))
  }

  @Test(arguments: [
    ("ce-subject", "params.subject"), ("ce-Note", "params.note"), ("Content-Type", "params.datacontenttype"),
  ])
  func `a value of a binary event in another encoding than UTF-8 is refused`(_ name: String, _ path: String) {
    var headers = HTTPHeaders()
    headers.append(name, [UInt8(ascii: "M"), 0xFC, UInt8(ascii: "r")])
    let error = #expect(throws: RequestError.self) {
      try BinaryEvent.write(headers, body: .empty, parser: RequestParser(), to: ByteBuffer())
    }
    #expect(error?.code == .invalidParams && error?.details["path"] == .string(path))
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
    headers.append("CE-Type", "t".utf8)
    headers.append("Content-Type", type.utf8)
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
    #expect(Base64.decode(encoded.utf8) == Array(text.utf8))
  }
}
