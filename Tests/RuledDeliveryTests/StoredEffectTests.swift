import RuledCore
import RuledJSON
import RuledWire
import Testing

@testable import RuledDelivery

@Suite struct StoredEffectTests {
  private let document = TapeDocument()

  private static func text(_ id: String, data: String) -> String {
    #"{"id":"\#(id)","plugin":"p","sink":"out","type":"t","data":\#(data),"subject":"s","at":"2025-11-10T00:00:00.000Z"}"#
  }

  private func read(_ text: String) -> StoredEffect? {
    Array(text.utf8).withView { StoredEffect($0, document) }
  }

  private func emitted(_ effect: StoredEffect, _ text: String) -> String {
    String(decoding: Array(text.utf8).withView { effect.emitted($0, document) }, as: UTF8.self)
  }

  @Test func `members are read in any order`() throws {
    let text =
      #"{ "at":"x","type":"t\u00e9","data":{"id":"other"}, "sink":"out","subject":"s","plugin":"p","id":"e-1"}"#
    let effect = try #require(read(text))
    #expect(effect.id == "e-1" && effect.plugin == "p" && effect.sink == "out" && effect.type == "té")
    #expect(effect.givenUpAfter == nil)
    #expect(emitted(effect, text) == text)
  }

  @Test func `the mark of an effect that was given up is added, read and removed`() throws {
    let text = Self.text("e\\n1", data: #"{"a":[1.0,"\u0000"]}"#)
    let failure = DeliveryFailure(reason: "\"no\"", status: 400, body: "b")
    let mark = StoredEffect.Mark(at: "2025-11-10T12:34:56.789Z", tries: 3, failure: failure, after: 7)
    let marked = String(decoding: StoredEffect.marked(Array(text.utf8), mark), as: UTF8.self)
    #expect(
      marked
        == #"{"failed":{"at":"2025-11-10T12:34:56.789Z","tries":3,"why":"\"no\"","status":400,"body":"b","after":7},"#
        + text.dropFirst())
    let effect = try #require(read(marked))
    #expect(effect.id == "e\n1" && effect.mark == mark)
    #expect(emitted(effect, marked) == text)
    let old = try #require(read(marked.replacing(#","after":7"#, with: "")))
    #expect(old.givenUpAfter == 0)
  }

  @Test func `data may be nested as deep as a rule can nest it`() {
    let data = String(repeating: "[", count: Limits.jsonDepth) + String(repeating: "]", count: Limits.jsonDepth)
    #expect(read(Self.text("e", data: data)) != nil)
  }

  @Test(arguments: [
    "", "{", "{}", "7", "[]", #"{"id":"e","plugin":"p","sink":"out"}"#,
    #"{"id":7,"plugin":"p","sink":"out","type":"t"}"#, #"{"id":"e","plugin":"p","sink":"out","type":"t""#,
    #"{"failed":{"after":-1},"id":"e","plugin":"p","sink":"out","type":"t"}"#,
  ])
  func `text of another form is not read`(_ text: String) { #expect(read(text) == nil) }
}
