import Testing

@testable import RuledTool

struct UnifiedDiffTests {
  private func lines(_ range: ClosedRange<Int>, changing changes: [Int: String] = [:]) -> String {
    range.map { (changes[$0] ?? "\($0)") + "\n" }.joined()
  }

  @Test func `equal texts have no difference`() {
    #expect(UnifiedDiff.text("a\nb\n", "a\nb\n", path: "x") == "")
    #expect(UnifiedDiff.text(nil, nil, path: "x") == "")
  }

  @Test func `a change stands between three lines before and after`() {
    let text = UnifiedDiff.text(lines(1...20), lines(1...20, changing: [10: "ten"]), path: "p/f.lua")
    #expect(text == "--- a/p/f.lua\n+++ b/p/f.lua\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n")
  }

  @Test func `changes that are near make one hunk, others two`() {
    let near = UnifiedDiff.text(lines(1...30), lines(1...30, changing: [10: "x", 17: "y"]), path: "f")
    #expect(near.split(separator: "\n").count { $0.hasPrefix("@@") } == 1)
    let far = UnifiedDiff.text(lines(1...30), lines(1...30, changing: [10: "x", 18: "y"]), path: "f")
    #expect(far.contains("@@ -7,7 +7,7 @@") && far.contains("@@ -15,7 +15,7 @@"))
  }

  @Test func `files that one side lacks are all new or all gone`() {
    #expect(UnifiedDiff.text(nil, "a\n", path: "f") == "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n")
    #expect(UnifiedDiff.text("a\n", nil, path: "f") == "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n")
  }

  @Test func `a missing newline at the end is told`() {
    #expect(
      UnifiedDiff.text("a", "a\n", path: "f")
        == "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n")
  }
}
