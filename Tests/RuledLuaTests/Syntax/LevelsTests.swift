import RuledCore
import RuledLua
import Testing

/// How deep a text may be nested, for everything that reads it.
@Suite struct LevelsTests {
  /// A text of `count` levels, one a line.
  struct Nesting: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: @Sendable (_ count: Int) -> String

    private static func around(_ start: String, _ end: String, _ inner: String = "1") -> @Sendable (Int) -> String {
      { "local t = " + String(repeating: "\(start)\n", count: $0) + inner + String(repeating: end, count: $0) }
    }

    private static func chain(_ first: String, _ link: String) -> @Sendable (Int) -> String {
      { "local t, u = {}, function() return \(first)" + String(repeating: "\n\(link)", count: $0 - 1) + " end" }
    }

    static let all = [
      Nesting(testDescription: "tables", text: around("{", "}", "")),
      Nesting(
        testDescription: "fields",
        text: { count in
          "local t = " + String(repeating: "{ a =\n", count: count) + "1" + String(repeating: "}", count: count)
        }),
      Nesting(testDescription: "calls", text: around("tostring(", ")")),
      Nesting(testDescription: "parentheses", text: around("(", ")")),
      Nesting(testDescription: "operators before a value", text: around("not", "")),
      Nesting(testDescription: "operators to the right", text: around("'a' ..", "", "'a'")),
      Nesting(
        testDescription: "blocks",
        text: { count in
          String(repeating: "do\n", count: count) + String(repeating: " end", count: count)
        }),
      Nesting(
        testDescription: "branches",
        text: { count in
          String(repeating: "if true then\n", count: count) + String(repeating: " end", count: count)
        }),
      Nesting(
        testDescription: "labels in a row",
        text: { count in (0..<count).map { "::a\($0)::\n" }.joined(separator: ";") }),
      Nesting(testDescription: "functions", text: around("function() return", " end")),
      Nesting(testDescription: "a sum", text: chain("1 + 1", "+ 1")),
      Nesting(testDescription: "keys", text: chain("t[1]", "[1]")),
      Nesting(
        testDescription: "keys within keys",
        text: { count in
          "local t, u = {}, function() return " + String(repeating: "t[\n", count: count) + "1"
            + String(repeating: "]", count: count) + " end"
        }),
      Nesting(testDescription: "members", text: chain("t.a", ".a")),
      Nesting(testDescription: "calls of results", text: chain("t()", "()")),
      Nesting(testDescription: "methods", text: chain("t:a()", ":a()")),
    ]
  }

  private let worker = LuaWorker()

  private func load(_ text: String) throws(LoadError) {
    let declaration = "plugin { name = 'p', version = '1.0.0' }; "
    let file = SourceFile(path: "p/plugin.lua", text: Array((declaration + text).utf8))
    try load(PluginSource(name: "p", modules: [file]))
  }

  private func load(
    _ source: PluginSource, tests: Bool = false, covering coverage: Coverage? = nil
  ) throws(LoadError) {
    _ = try PluginVM(source: source, worker: worker, tests: tests, covering: coverage)
  }

  @Test(arguments: Nesting.all)
  func `200 levels load, and 201 are refused with their line by the daemon and the tools`(nesting: Nesting) throws {
    // A sum, keys and the like stand within a function, whose block is a level.
    let most = nesting.text(1).contains("function()") && nesting.testDescription != "functions" ? 199 : 200
    let deepest = nesting.text(most)
    #expect(throws: Never.self) { try load(deepest) }
    #expect(throws: Never.self) { try SyntaxTree(parsing: Array(deepest.utf8)) }
    for text in [nesting.text(most + 1), nesting.text(5000)] {
      let refusal = #expect(throws: LoadError.self) { try load(text) }
      #expect(refusal?.file == "p/plugin.lua")
      #expect(refusal?.message.hasPrefix("nested deeper than 200 levels") == true)
      #expect((190...204).contains(refusal?.line ?? 0), "\(refusal?.line ?? 0)")
      let error = #expect(throws: SyntaxError.self) { try SyntaxTree(parsing: Array(text.utf8)) }
      #expect(error?.line == refusal?.line)
    }
  }

  @Test(arguments: [" + 1", "[1]", ".a", "()", ":a()"])
  func `a chain that ends its line is refused with this line`(link: String) {
    let text = "local t, u = {}, function()\n  return t" + String(repeating: link, count: 201) + "\n\nend"
    let error = #expect(throws: SyntaxError.self) { try SyntaxTree(parsing: Array(text.utf8)) }
    #expect(error?.line == 2)
  }

  @Test func `levels in a required module, a test and a configuration are refused with their file and line`() throws {
    let deep = "\nreturn " + String(repeating: "{", count: 300) + String(repeating: "}", count: 300)
    let requiring = "plugin { name = 'p', version = '1.0.0' } require 'm'"
    let entry = SourceFile(path: "p/plugin.lua", text: Array(requiring.utf8))
    let module = SourceFile(path: "lib/m.lua", text: Array(deep.utf8))
    let refusal = #expect(throws: LoadError.self) {
      try load(PluginSource(name: "p", modules: [entry], library: [module]))
    }
    #expect(refusal?.file == "lib/m.lua" && refusal?.line == 2)
    let plain = SourceFile(path: "p/plugin.lua", text: Array("plugin { name = 'p', version = '1.0.0' }".utf8))
    let test = SourceFile(path: "p/tests/a.lua", text: Array(deep.utf8))
    let refused = #expect(throws: LoadError.self) {
      try load(PluginSource(name: "p", modules: [plain], tests: [test]), tests: true)
    }
    #expect(refused?.file == "p/tests/a.lua" && refused?.line == 2)
    let errors = #expect(throws: ConfigurationFileError.self) {
      try ConfigurationFile.parse(Array("x =\n\(deep.dropFirst(8))".utf8), path: "ruled.conf.lua")
    }
    #expect(errors?.errors.first?.line == 2)
  }

  @Test func `deep levels load with coverage, too, whose calls add to them`() throws {
    let condition = String(repeating: "t and (", count: 99) + "t" + String(repeating: ")", count: 99)
    let text = "plugin { name = 'p', version = '1.0.0' } local t = true return \(condition)"
    let file = SourceFile(path: "p/plugin.lua", text: Array(text.utf8))
    #expect(throws: Never.self) {
      try load(PluginSource(name: "p", modules: [file]), covering: Coverage())
    }
  }

  @Test func `many jumps, labels, variables and functions are read`() throws {
    let jumps = (0..<8000).map { "goto a\($0) ::a\($0)::\n" }.joined()
    let labels = (0..<8000).map { "::a\($0):: f()\n" }.joined()
    let waiting = (0..<8000).map { "goto a\($0) ::b\($0)::\n" }.joined() + labels
    let loops = String(repeating: "while t do break end ", count: 8000)
    let functions = String(repeating: "f(function() end) ", count: 8000)
    for text in [jumps, waiting, loops, functions] {
      #expect(throws: Never.self) { try SyntaxTree(parsing: Array(text.utf8)) }
    }
  }
}
