import Testing

@testable import RuledCore

@Suite struct URLTextTests {
  @Test func `The development client's link is read as it is`() throws {
    let url = try URLText.parse("exp+boss-app://expo-development-client/?url=http://localhost:8081&fbclid=test123")
    #expect(url.scheme == "exp+boss-app")
    #expect(url.host == "expo-development-client")
    #expect(url.port == nil)
    #expect(url.path == "/")
    #expect(
      url.query == [
        .init(name: "url", value: "http://localhost:8081"), .init(name: "fbclid", value: "test123"),
      ])
    #expect(url.fragment == nil)
  }

  @Test func `Every part is decoded once`() throws {
    let url = try URLText.parse("HTTPS://u%40x:p@Ex%41mple.COM:8443/a%20b/%2541?a%26b=1%3D2&c=d+e&f=%C3%A9#x%23y")
    #expect(
      url
        == URLText(
          scheme: "https", userInfo: "u@x:p", host: "example.com", port: 8443, path: "/a b/%41",
          query: [.init(name: "a&b", value: "1=2"), .init(name: "c", value: "d+e"), .init(name: "f", value: "é")],
          fragment: "x#y"))
  }

  @Test(arguments: [
    ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("100%", "100%"), ("%%41", "%A"), ("%41%", "A%"), ("%FF", "%FF"),
    ("%C3", "%C3"), ("%C3%41", "%C3A"), ("%c3%a9", "é"), ("%C3é", "%C3é"), ("%ED%A0%80", "%ED%A0%80"),
    ("%F0%9F%98%80", "😀"), ("%F0%9F%98", "%F0%9F%98"), ("%80%41", "%80A"), ("%00", "\u{0}"), ("%C3%A9%A9", "é%A9"),
  ])
  func `Malformed escapes and bytes that are no UTF-8 stay as they are`(value: String, decoded: String) throws {
    #expect(try URLText.parse("a://b?x=\(value)")[parameter: "x"] == decoded)
  }

  @Test(
    arguments: [
      ("a=1&a=2", ["a": "1"]), ("a", ["a": ""]), ("a=", ["a": ""]), ("&&a=1&", ["a": "1"]), ("a=b=c", ["a": "b=c"]),
      ("A=1&a=2", ["A": "1", "a": "2"]), ("%61=1&a=2", ["a": "1"]), ("=x", ["": "x"]), ("", [:]), ("a=?b", ["a": "?b"]),
      ("e\u{301}=1&\u{E9}=2", ["e\u{301}": "1", "\u{E9}": "2"]),
    ] as [(String, KeyValuePairs<String, String>)])
  func `Of repeated keys the first counts`(query: String, expected: KeyValuePairs<String, String>) throws {
    let parameters = try URLText.parse("https://x/?\(query)").query
    #expect(parameters.count == expected.count)
    #expect(zip(parameters, expected).allSatisfy { $0.name == $1.key && $0.value == $1.value })
  }

  @Test(
    arguments: [
      ("mailto:a@b.c?subject=hi", nil, "a@b.c"), ("app:///x/y", "", "/x/y"), ("https://x", "x", ""),
      ("app://Report/AbC", "Report", "/AbC"), ("http://[::1]:80/", "::1", "/"), ("app:", nil, ""),
      ("https://x:/", "x", "/"),
      ("https://münchen.example/straße x", "münchen.example", "/straße x"), ("https://a@b@c/", "c", "/"),
    ] as [(String, String?, String)])
  func `Host and path are found in every form`(text: String, host: String?, path: String) throws {
    let url = try URLText.parse(text)
    #expect(url.host == host)
    #expect(url.path == path)
  }

  @Test(arguments: [
    "", "not a url", "/path?x=1", "://x", "1a://x", "https://", "https:///x", "https:x", "https://x:99999/",
    "https://x:8a/", "https://[::1", "https://[::1]x/", "https://a b/", "a\nb://c", "https://x/\u{0}", "?x=1", "#x",
  ])
  func `Text that is no absolute URL is an error`(text: String) {
    #expect(throws: URLTextError.self) { try URLText.parse(text) }
  }

  @Test func `Bytes that are no UTF-8 are an error`() {
    let bytes: [UInt8] = Array("a://b?x=".utf8) + [0xFF]
    #expect(throws: URLTextError("the URL is not UTF-8")) { try bytes.withView { try URLText.parse($0) } }
  }
}
