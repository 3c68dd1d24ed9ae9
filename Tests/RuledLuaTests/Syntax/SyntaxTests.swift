import Glibc
import RuledCore
import RuledLua
import TestSupport
import Testing

/// The tree of a text, compared with what liblua itself makes of the text.
@Suite struct SyntaxTests {
  private let inspector: SourceInspector
  private let worker = LuaWorker()

  init() throws { inspector = try #require(SourceInspector(worker: worker)) }

  /// Whether Lua compiles the text, and why not.
  private func refusal(_ text: [UInt8]) -> String? {
    do throws(LoadError) {
      _ = try inspector.uses(in: SourceFile(path: "t.lua", text: text))
      return nil
    } catch { return error.message }
  }

  /// The texts of the shipped rules and of their tests.
  private static let shippedRules: [[UInt8]] = {
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return ["*", "*/tests"].flatMap { folder -> [[UInt8]] in
      var found = glob_t()
      defer { globfree(&found) }
      guard glob("/\(root)/rules/\(folder)/*.lua", 0, nil, &found) == 0 else { return [] }
      return (0..<Int(found.gl_pathc)).compactMap { index in
        guard let path = found.gl_pathv[index], let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        return Array(bytes[..<fread(&bytes, 1, bytes.count, file)])
      }
    }
  }()

  @Test(
    arguments: [
      ("f('a')", "a"), ("f 'a' 'b'", "a"), ("return f('a', ...)", "a"), ("f('a', b and 1 or 'c' .. d, g('e'))", "a"),
      ("f('a' .. b)", nil), ("f('a' .. 'b')", "ab"), ("f('a' == b)", nil), ("f(('a'):rep(2))", nil), ("f(b)", nil),
    ] as [(String, String?)])
  func `the constant that a global function gets is told, and none of which something else is made`(
    text: String, argument: String?
  ) throws {
    let uses = try inspector.uses(in: SourceFile(path: "t.lua", text: Array(text.utf8)))
    #expect(uses.first { $0.name == "f" }?.argument == argument)
  }

  /// What Lua refuses, besides the grammar.
  private static let leftToLua = [
    "no visible label", "already defined", "jumps into the scope", "break outside", "assign to const variable",
    "limit is 200", "unknown attribute", "multiple to-be-closed", "outside a vararg function", "C stack overflow",
    "malformed number", "invalid long string delimiter",
  ]

  private func check(_ text: [UInt8], _ origin: @autoclosure () -> String = "") {
    let refusal = refusal(text)
    do throws(SyntaxError) {
      _ = try SyntaxTree(parsing: text)
      let isLeft = Self.leftToLua.contains { refusal?.contains($0) ?? false }
      #expect(refusal == nil || isLeft, "accepted: \(origin()) \(String(decoding: text.suffix(2000), as: UTF8.self))")
    } catch {
      #expect(refusal != nil, "\(error) \(origin()) \(String(decoding: text.suffix(2000), as: UTF8.self))")
    }
  }

  @Test(arguments: [
    "", ";", "return", "return;", "return 1,2;", "return; x()", "local a <const> = 1 a = 2",
    "local a <close>, b <close>", "local a <odd> = 1", "break", "while 1 do break end",
    "while 1 do local f = function() break end end", "goto a", "goto a ::a::", "::a:: ::a::", "::a:: do ::a:: end",
    "do goto a end local x ::a:: x()", "do goto a local x ::a:: end", "do goto a local x ::a:: ; ::b:: end",
    "do goto a; local x; ::a:: f() end", "repeat goto a local x ::a:: until x", "for i = 1, 2 do goto a ::a:: end",
    "for a, b in f do end", "for a.b in f do end", "function a.b:c(...) return ... end", "function f(a,) end",
    "function f(..., a) end", "return function() return ... end", "(a) = 1", "(a).b = 1", "a() = 1", "(f())", "f()()",
    "f'x'.y", "f{}:g''", "a.b:c = 1", "a, b.c, d[1] = f()", "local function f() f() end", "x = {1, 2; a = 1, [2] = 3,}",
    "x = {,}", "x = {a b}", "x = - - 1", "x = --[[c]] 1", "x = --[==[\n]] ]==] 1", "x = [=x", "x = [[a",
    "x = 'a\\z  \n b'",
    "x = '\\xZZ'", "x = '\\u{7FFFFFFF}'", "x = '\\u{80000000}'", "x = '\\300'", "x = '\\q'", "x = 'a\nb'", "x = 1..2",
    "x = 1 ..2", "x = 0x", "x = 0x.8p1", "x = 0x1p", "x = 1e", "x = 1e+5", "x = 3x", "x = 0xep1", "x = .5", "x = 5.",
    "x = 1e5.5", "x = 08", "x = 0x1.8.8", "x = a.b.c.1", "if x then elseif y then else end",
    "if x then else elseif y end",
    "x = not not nil == -2^-3^4", "x = a or b and c < d | e ~ f & g << h .. i + j * -k ^ l", "x = @", "x = 1 $",
    "\u{0}",
    "local goto = 1", "x = function() end()", "x = (function() end)()", "local x <const>", "f\n(g)", "::a",
    "return return",
    "local a, b = ", "for i = 1 do end", "for i = 1, 2, 3, 4 do end", "x = ~1 ~= ~2 ~ 3", "x = a//b", "#",
    "#!x\nreturn",
    "local x <const> = 1; local function f() x = 2 end", "local x <const> = 1; function x() end",
    "goto continue; x = 1; ::continue::",
    "while true do if x then goto continue end local y = 1 ::continue:: end", "x = {f(), ...}", "x = ...", "a.b.c:d'e'",
  ])
  func `a text is accepted if Lua accepts its grammar`(text: String) { check(Array(text.utf8), text) }

  @Test func `Lua's limits on nesting and on local variables hold`() {
    check(Array((String(repeating: "(", count: 300) + "1" + String(repeating: ")", count: 300)).utf8))
    check(Array("x = \(String(repeating: "-", count: 1).count)".utf8))
    check(Array((1...200).map { "local a\($0)\n" }.joined().utf8))
    check(Array((1...201).map { "local a\($0)\n" }.joined().utf8))
    check(Array((String(repeating: "do ", count: 250) + String(repeating: "end ", count: 250)).utf8))
    check(Array(("x = " + String(repeating: "{", count: 150) + String(repeating: "}", count: 150)).utf8))
  }

  @Test(arguments: 0..<2 as Range<UInt64>)
  func `texts of the shipped rules with random changes are judged as Lua judges them`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let texts = Self.shippedRules
    #expect(texts.count > 50)
    let words = [
      "end", "then", "do", "(", ")", "{", "}", "[", "]", "=", "==", "local ", "function ", "return ", " and ", " or ",
      ",",
      ";", ":", "::", ".", "..", "...", "'", "\"", "--", "[[", "]]", " x ", " 1 ", "nil", "goto a ", "::a::", "break ",
      "~",
      "<const>", "\\", "0x", "1e", "if ", "else ", "elseif ", "until ", "repeat ", "for i = 1, 2 do ", "in ", "#",
      "not ",
    ].map { Array($0.utf8) }
    for index in 0..<texts.count * 4 {
      var text = texts[index % texts.count]
      for _ in 0...Int.random(in: 0...2, using: &random) {
        let at = Int.random(in: 0...text.count, using: &random)
        let length = min(Int.random(in: 0...6, using: &random), text.count - at)
        switch Int.random(in: 0...3, using: &random) {
        case 0: text.removeSubrange(at..<at + length)
        case 1: text.insert(contentsOf: words.randomElement(using: &random) ?? [], at: at)
        case 2:
          text.replaceSubrange(at..<at + length, with: words.randomElement(using: &random) ?? [])
        default: text.insert(contentsOf: text[at..<at + length], at: Int.random(in: 0...text.count, using: &random))
        }
      }
      check(text, "seed \(seed), text \(index)")
    }
  }

  @Test func `the ranges of parts nest, and literals and names are at theirs`() throws {
    for text in Self.shippedRules {
      let tree = try SyntaxTree(parsing: text)
      tree.root.forEach { node in
        for child in node.children where !child.range.isEmpty {
          #expect(
            node.range.lowerBound <= child.range.lowerBound && node.range.upperBound >= child.range.upperBound
              || node.kind == .list, "\(node.kind) \(child.kind) line \(child.line)")
        }
        let written = String(decoding: text[node.range], as: UTF8.self)
        switch node.kind {
        case .name, .number: #expect(written == node.text)
        case .string: #expect(written == node.text || written.count >= node.text.count + 2, "\(written)")
        case .binary, .unary: #expect(String(decoding: text[node.mark], as: UTF8.self) == node.text)
        case .ifStatement, .function, .whileLoop, .numericFor, .genericFor:
          #expect(written.hasSuffix("end"), "\(node.kind) line \(node.line)")
        default: break
        }
      }
    }
  }

  @Test func `a tree tells ranges, lines, operators and variables`() throws {
    let text = "local a = 1\nreturn function(b)\n  return a + b * c.d\nend"
    let tree = try SyntaxTree(parsing: Array(text.utf8))
    var names: [String] = []
    var operators: [String] = []
    tree.root.forEach { node in
      if node.kind == .name {
        names.append(node.text + (node.local.map { tree.locals[$0].isParameter ? ":p" : ":l" } ?? ""))
      }
      if node.kind == .binary { operators.append("\(node.text)@\(node.mark.lowerBound):\(node.line)") }
    }
    #expect(names == ["a:l", "b:p", "a:l", "b:p", "c"])
    #expect(operators == ["+@42:3", "*@46:3"])
  }
}
