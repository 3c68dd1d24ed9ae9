import Glibc
import RuledCore
import RuledLua
import TestSupport
import Testing

/// The layout of Lua: what it changes, and that it changes nothing else.
@Suite struct FormatterTests {
  /// The shipped rules, their library and their tests.
  private static let shipped: [(path: String, text: String)] = {
    let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return ["*", "*/tests"].flatMap { folder -> [(String, String)] in
      var found = glob_t()
      defer { globfree(&found) }
      guard glob("\(root)/rules/\(folder)/*.lua", 0, nil, &found) == 0 else { return [] }
      return (0..<Int(found.gl_pathc)).compactMap { index in
        found.gl_pathv[index].map { String(cString: $0) }.map { ($0, TemporaryFolder.read($0)) }
      }
    }
  }()

  private func format(_ text: String) throws -> String {
    String(decoding: try LuaFormatter.format(Array(text.utf8)), as: UTF8.self)
  }

  @Test func `Spaces, indentation and blank lines are laid out; words, comments and line breaks stay`() throws {
    let text = """


      local   x<const> =  - -1 -- two\u{20}\u{20}
      local s=[==[
         keep
        this]==]



      --[[ long
         comment ]] local y = #x-~1
      if a
      and b
      then return x
      elseif not(c) then
      -- why
      ::top:: goto top
      end
      local t={1,2;3,[ [[k]] ]=4,["a"]=a[ [[b]] ],f=function(...)return ...end}
      local aligned   = { 1,   2 }    -- kept
      foo{a=1}:bar"x"
        :baz[[y]]
      for i=1,10 do print(i)end
      repeat local z=x<y until z>
       3
      call(function()
            return{
      a,
              b = c
      or d,
            }
      end)
      local v =
      function() return-1 end
      return (a
      or b)
      """
    let laidOut = """
      local x <const> = - -1 -- two
      local s = [==[
         keep
        this]==]

      --[[ long
         comment ]] local y = #x - ~1
      if a
        and b
      then return x
      elseif not (c) then
        -- why
        ::top:: goto top
      end
      local t = { 1, 2; 3, [ [[k]] ] = 4, ["a"] = a[ [[b]] ], f = function(...) return ... end }
      local aligned   = { 1,   2 }    -- kept
      foo { a = 1 }:bar "x"
        :baz [[y]]
      for i = 1, 10 do print(i) end
      repeat local z = x < y until z >
        3
      call(function()
        return {
          a,
          b = c
            or d,
        }
      end)
      local v =
        function() return -1 end
      return (a
        or b)

      """
    #expect(try format(text) == laidOut)
    #expect(try format(laidOut) == laidOut)
    #expect(try format("") == "" && format("\n\n-- only\n\n") == "-- only\n")
  }

  @Test func `The shipped rules are laid out, and any indentation of them gives them back`() throws {
    #expect(Self.shipped.count > 90)
    var random = SystemRandomNumberGenerator()
    for (path, text) in Self.shipped {
      #expect(try format(text) == text, "\(path)")
      guard !text.contains("[[") else { continue }
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        String(repeating: [" ", "\t"].randomElement(using: &random) ?? " ", count: .random(in: 0...9, using: &random))
          + line.drop { $0 == " " }
      }
      #expect(try format(lines.joined(separator: "\n")) == text, "\(path)")
    }
  }

  @Test func `Spaces anywhere change no word, and the layout of a layout is itself`() throws {
    var random = SystemRandomNumberGenerator()
    for (path, text) in Self.shipped {
      // A space beside punctuation that is in no string of this file changes no word.
      var changed = ""
      var quote: Character?
      var isComment = false
      var last: Character = " "
      for character in text {
        if character == "\n" { isComment = false }
        if !isComment, quote == nil, character == "-", last == "-" { isComment = true }
        if !isComment, character == "\"" || character == "'", last != "\\" {
          quote = quote == nil ? character : quote == character ? nil : quote
        }
        changed.append(character)
        if !isComment, quote == nil, ",(){}".contains(character), Bool.random(using: &random) {
          changed += [" ", "  ", "\n"].randomElement(using: &random) ?? " "
        }
        last = character
      }
      guard !text.contains("[["), LuaFormatter.haveSameWords(Array(text.utf8), Array(changed.utf8)) else { continue }
      let laidOut = try format(changed)
      #expect(LuaFormatter.haveSameWords(Array(text.utf8), Array(laidOut.utf8)), "\(path)")
      #expect(try format(laidOut) == laidOut, "\(path)")
    }
  }

  @Test func `A change of a word or of a comment is seen`() {
    func same(_ one: String, _ other: String) -> Bool {
      LuaFormatter.haveSameWords(Array(one.utf8), Array(other.utf8))
    }
    #expect(same("a = 1 -- x", "a=1   -- x  "))
    #expect(!same("a = 1 -- x", "a = 1 -- y"))
    #expect(!same("a = '1'", "a = 1"))
    #expect(!same("a = -- x\n1", "a = 1 -- x"))
  }
}
