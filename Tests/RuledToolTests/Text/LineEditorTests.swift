import Glibc
import TestSupport
import Testing

@testable import RuledTool

@Suite struct LineEditorTests {
  /// The lines that a person types with these keys.
  private func lines(_ keys: [String], history: LineHistory = LineHistory([:])) throws -> [String?] {
    let terminal = try PseudoTerminal()
    // The keys wait for the editor, and the kernel leaves them as they are; those that it brought later, while the editor begins, would edit a line
    // of the kernel's own.
    cfmakeraw(&terminal.mode)
    for key in keys { terminal.type(key) }
    try #require(eventually { terminal.waiting == keys.reduce(0) { $0 + $1.utf8.count } })
    let editor = try #require(LineEditor(history: history, input: terminal.program, output: terminal.program))
    editor.completion = { line in ["decide", "decode", "once"].filter { $0.hasPrefix(ReplCompletion.word(of: line)) } }
    return keys.map { _ in editor.readLine(prompt: "> ") }
  }

  @Test(arguments: [
    ("abc\u{7F}d", "abd"), ("ab\u{1B}[D\u{1B}[Dx\u{1B}[Fy", "xaby"), ("one two\u{17}\u{01}\u{0B}", ""),
    ("one two\u{17}three", "one three"), ("one two\u{1B}b\u{15}", "two"), ("aé\u{1B}[D\u{1B}[3~", "a"),
    ("日本\u{7F}b\u{1B}OHc", "c日b"), ("a b\u{1B}[1;5Dc", "a cb"), ("ab\u{01}\u{04}", "b"), ("unwanted\u{3}a", "a"),
  ])
  func `keys edit a line as shells do`(_ keys: String, _ line: String) throws {
    let typed = try lines([keys + "\r"])
    #expect(typed == [line])
  }

  @Test func `the arrow keys bring back lines of this session and of earlier ones`() throws {
    let folder = TemporaryFolder()
    var history = LineHistory(["XDG_STATE_HOME": folder("state")])
    history.add("earlier")
    let lines = try lines(["now\r", "\u{1B}[A\u{1B}[A!\r", "\u{1B}[A\u{1B}[A\u{1B}[B\r"], history: history)
    #expect(lines == ["now", "earlier!", "earlier!"])
    #expect(TemporaryFolder.read(folder("state/rulectl/history")) == "earlier\nnow\nearlier!\n")
  }

  @Test func `tab completes the common beginning of all candidates, and lists them after that`() throws {
    #expect(try lines(["(d\t\ti\t)\r", "x\t\r", "1 + o\t\r"]) == ["(decide)", "x", "1 + once"])
  }

  @Test func `Ctrl-D ends on an empty line`() throws { #expect(try lines(["a\r", "\u{4}"]) == ["a", nil]) }
}
