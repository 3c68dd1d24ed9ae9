import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// The parts of URLs that `url.parse` gives rules.
@Suite(.serialized) struct URLTests {
  /// What `url.parse` makes of a text; of one that is no URL, the reason.
  private func parts(_ text: String) throws -> JSONValue {
    let bench = try Bench(
      Bench.rule("local parsed, why = url.parse(event.data.text) decide('result', parsed or { why = why })"))
    let outcome = try bench.handle(JSONValue.object(["data": ["text": .string(text)]]).text)
    return try JSONValue(parsing: outcome.decisions["result"] ?? "null")
  }

  @Test(arguments: [
    (
      "exp+boss-app://expo-development-client/?url=http://localhost:8081&fbclid=test123",
      #"{"scheme":"exp+boss-app","host":"expo-development-client","path":"/","#
        + #""query":{"url":"http://localhost:8081","fbclid":"test123"}}"#
    ),
    (
      "HTTPS://u%40x:p@Ex%41mple.COM:8443/a%20b/%2541?a%26b=1%3D2&c=d+e&f=%C3%A9#x%23y",
      #"{"scheme":"https","host":"example.com","port":8443,"path":"/a b/%41","#
        + #""query":{"a&b":"1=2","c":"d+e","f":"é"},"fragment":"x#y"}"#
    ),
    ("mailto:a@b.c?subject=hi", #"{"scheme":"mailto","path":"a@b.c","query":{"subject":"hi"}}"#),
    ("app:///x/y", #"{"scheme":"app","host":"","path":"/x/y","query":{}}"#),
    ("https://x", #"{"scheme":"https","host":"x","path":"","query":{}}"#),
    ("app://Report/AbC", #"{"scheme":"app","host":"Report","path":"/AbC","query":{}}"#),
    ("http://[::1]:80/", #"{"scheme":"http","host":"::1","port":80,"path":"/","query":{}}"#),
    ("app:", #"{"scheme":"app","path":"","query":{}}"#),
    ("https://x:/", #"{"scheme":"https","host":"x","path":"/","query":{}}"#),
    ("https://ÄX.de/straße x", #"{"scheme":"https","host":"äx.de","path":"/straße x","query":{}}"#),
    ("https://a@b@c/", #"{"scheme":"https","host":"c","path":"/","query":{}}"#),
  ])
  func `Every part is found and decoded once`(text: String, expected: String) throws {
    #expect(try parts(text) == JSONValue(parsing: expected))
  }

  @Test(arguments: [
    ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("100%", "100%"), ("%%41", "%A"), ("%41%", "A%"), ("%FF", "%FF"),
    ("%C3", "%C3"), ("%C3%41", "%C3A"), ("%c3%a9", "é"), ("%C3é", "%C3é"), ("%ED%A0%80", "%ED%A0%80"),
    ("%F0%9F%98%80", "😀"), ("%F0%9F%98", "%F0%9F%98"), ("%80%41", "%80A"), ("%00", "\u{0}"), ("%C3%A9%A9", "é%A9"),
  ])
  func `Malformed escapes and bytes that are no UTF-8 stay as they are`(value: String, decoded: String) throws {
    #expect(try parts("a://b?x=\(value)")["query"] == ["x": .string(decoded)])
  }

  @Test(
    arguments: [
      ("a=1&a=2", ["a": "1"]), ("a", ["a": ""]), ("a=", ["a": ""]), ("&&a=1&", ["a": "1"]), ("a=b=c", ["a": "b=c"]),
      ("A=1&a=2", ["A": "1", "a": "2"]), ("%61=1&a=2", ["a": "1"]), ("=x", ["": "x"]), ("", [:]), ("a=?b", ["a": "?b"]),
      ("e\u{301}=1&\u{E9}=2", ["e\u{301}": "1", "\u{E9}": "2"]),
    ] as [(String, JSONValue)])
  func `Of repeated keys the first counts`(query: String, expected: JSONValue) throws {
    #expect(try parts("https://x/?\(query)")["query"] == expected)
  }

  @Test(arguments: [
    "", "not a url", "/path?x=1", "://x", "1a://x", "https://", "https:///x", "https:x", "https://x:99999/",
    "https://x:8a/", "https://[::1", "https://[::1]x/", "https://a b/", "a\nb://c", "https://x/\u{0}", "?x=1", "#x",
  ])
  func `Text that is no absolute URL has a reason`(text: String) throws {
    #expect(try parts(text)["why"]?.stringValue?.contains("URL") == true)
  }

  @Test func `Bytes that are no UTF-8 are no URL`() throws {
    let outcome = try Bench(Bench.rule(#"decide('why', select(2, url.parse('a://b?x=\xFF')))"#)).handle()
    #expect(outcome.decisions["why"] == "\"the URL is not UTF-8\"")
  }
}
