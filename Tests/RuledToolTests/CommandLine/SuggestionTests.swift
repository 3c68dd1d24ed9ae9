import RuledTool
import Testing

/// What a mistyped word was meant to be.
struct SuggestionTests {
  @Test func `A near word is found and a far one is not`() {
    let words = ["event", "query", "state", "subjects", "health"]
    #expect(Suggestion.nearest(to: "evnet", among: words) == "event")
    #expect(Suggestion.nearest(to: "subject", among: words) == "subjects")
    #expect(Suggestion.nearest(to: "helth", among: words) == "health")
    #expect(Suggestion.nearest(to: "bananas", among: words) == nil)
    #expect(Suggestion.nearest(to: "", among: words) == nil)
    #expect(Suggestion.nearest(to: "x", among: []) == nil)
  }
}
