import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// The functions that only compute: letters, patterns, versions, addresses, digests, encodings, and where a key falls.
@Suite(.serialized) struct SmallFunctionTests {
  /// A budget whose time is enough in a debug build on a slow host.
  private static let long = Budget(instructions: 1_000_000, memoryBytes: 16 << 20, processorTime: 2_000_000)

  /// Expressions that are true.
  static let truths: [String] = [
    // Letters.
    "text.upper('straße ǆ ŉ ﬃ և ΐ ᾳ ı') == 'STRASSE Ǆ ʼN FFI ԵՒ \u{399}\u{308}\u{301} ΑΙ I'",
    "text.upper('İẞ a\\xFFb') == 'İẞ A\u{FFFD}B'", "text.lower('İẞΣ') == 'i̇ßς'",
    "text.lower('ΟΔΟΣ, Σ, ΑΣ.Β, ΑΣ@b, Α\u{301}Σ\u{301}') == 'οδος, σ, ασ.β, ας@b, α\u{301}ς\u{301}'",
    "text.fold('ＡＢ１２\u{A0}ｘ') == 'ab12 x'", "text.fold('²③𝟜Ⅷ') == '234viii'",
    "text.fold('٠١٩ ۰۹ ०९ ๐๙ 𞥐𞥙') == '019 09 09 09 09'", "text.fold('030\u{2011}12') == '030-12'",
    "text.fold('Stra\u{DF}e') == text.fold('STRASSE')", "text.fold('a\u{AD}b\u{200B}c') == 'abc'",
    "text.fold('e\u{301}') == text.fold('É')", "text.fold('') == '' and text.fold('\\xFFA') == '\u{FFFD}a'",
    // Patterns.
    "same({ text.find_re('see a@b.de', '([a-z]+)@([a-z.]+)') }, { 5, 10, 'a', 'b.de' })",
    "text.find_re('abc', 'x') == nil and select('#', text.find_re('abc', 'x')) == 1",
    "same({ text.find_re('', '') }, { 1, 0 }) and same({ text.find_re('ab', '$') }, { 3, 2 })",
    "(function() local s, e, a, b = text.find_re('b', '(a)?(b)') return s == 1 and e == 1 and a == nil and b == 'b' end)()",
    "same({ text.find_re('xÄÖ', '(?i)ä.') }, { 2, 5 })", "select(2, text.find_re('a\\0b', 'a.b')) == 3",
    "select(2, pcall(text.find_re, ('a'):rep(2000000), '(a|b)*')):find('with groups may have', 1, true) ~= nil",
    "select(2, text.find_re(('a'):rep(500000), '[ab]*')) == 500000",
    "(pcall(text.find_re, 'a', '(')) == false", "(pcall(text.find_re, nil, 'a')) == false",
    "select(2, pcall(text.find_re, 'a', '(' .. 'b')):find('missing ):', 1, true) ~= nil",
    "select(2, pcall(text.find_re, 'a', ('()'):rep(32))):find('more than 31 groups', 1, true) ~= nil",
    "select(2, pcall(text.find_re, 'a', ('a'):rep(5000))):find('longer than 4096 bytes', 1, true) ~= nil",
    // Versions.
    "semver.compare('1.2.3', 'v1.2.3') == 0 and semver.compare('1.10.0', '1.9.9') == 1",
    "semver.compare('1.0.0-alpha.1', '1.0.0-alpha.beta') == -1 and semver.compare('1.0.0-rc.1', '1.0.0') == -1",
    "semver.compare('1.0.0-alpha', '1.0.0-alpha.1') == -1 and semver.compare('1.0.0-2', '1.0.0-11') == -1",
    "semver.compare('1.0.0+a', '1.0.0+b') == 0 and semver.compare('99999999999999999999.0.0', '1.0.0') == 1",
    // Addresses.
    "ip.within('10.1.2.3', '10.0.0.0/8') and not ip.within('11.1.2.3', '10.0.0.0/8')",
    "ip.within('::ffff:10.1.2.3', '10.0.0.0/8') and ip.within('10.1.2.3', '::ffff:10.0.0.0/104')",
    "ip.within('2001:db8::1', '2001:db8::/33') and not ip.within('2001:db8:8000::1', '2001:db8::/33')",
    "ip.within('1.2.3.4', '0.0.0.0/0') and ip.within('1.2.3.4', '1.2.3.4') and not ip.within('1.2.3.4', '::/0')",
    // Digests and encodings.
    "hash.hmac_sha256('key', 'The quick brown fox jumps over the lazy dog') == "
      + "'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8'",
    "hash.hmac_sha256(('\\xaa'):rep(131), 'Test Using Larger Than Block-Size Key - Hash Key First') == "
      + "'60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54'",
    "base64.encode('') == '' and base64.encode('f') == 'Zg==' and base64.encode('fo') == 'Zm8='",
    "base64.decode('Zm9vYmFy') == 'foobar' and base64.decode('/+8=') == '\\xff\\xef' and base64.decode('') == ''",
    "hex.encode('\\0\\xffA') == '00ff41' and hex.decode('00FFaf') == '\\0\\xff\\xaf'",
    "url.encode('a b/ä~-._') == 'a%20b%2F%C3%A4~-._'",
    // Where a key falls: computed by hand with sha256sum.
    "bucket('colours', 'user:7') == bucket('colours', 'user:7') and bucket('colours') == bucket('colours', 'user:1')",
    "bucket('a', 'b') == (tonumber(hash.sha256('t\\0a\\0b'):sub(1, 14), 16) >> 3) / 2.0 ^ 53",
    "pick({ a = 1, b = 3 }, 0) == 'a' and pick({ a = 1, b = 3 }, 0.25) == 'b' and pick({ b = 3, a = 1 }, 0.999) == 'b'",
    "pick({ a = 0, b = 0.5, c = 0 }, 0) == 'b' and pick({ a = 0, b = 0.5, c = 0 }, 0.9999) == 'b'",
    "pick(weights, 0.5) == 'y'",
  ]

  static let before = """
    local weights = { x = 10, y = 10 }
    local function same(left, right)
      if #left ~= #right then return false end
      for i, value in ipairs(left) do if right[i] ~= value then return false end end
      return true
    end
    """

  @Test(arguments: truths) func `a truth of the functions that compute holds`(_ truth: String) throws {
    let outcome = try Bench(Bench.rule("decide('v', \(truth))", before: Self.before)).handle()
    #expect(outcome.decisions["v"] == "true", "\(String(describing: outcome.failure))")
  }

  @Test(arguments: [
    "semver.compare('1.2', '1.2.3')", "semver.compare('1.2.3', '01.2.3')", "semver.compare('1.2.3-', '1.2.3')",
    "semver.compare('1.2.3-01', '1.2.3')", "semver.compare('1.2.3 ', '1.2.3')", "semver.compare('1.2.3+', '1.2.3')",
    "semver.compare(nil, '1.2.3')", "semver.compare('vv1.2.3', '1.2.3')", "ip.within('10.0.0', '10.0.0.0/8')",
    "ip.within('10.0.0.1', '10.0.0.0/33')", "ip.within('10.0.0.1', '10.0.0.0/')", "ip.within('x', '::/0')",
    "ip.within('10.0.0.1 ', '10.0.0.0/8')", "ip.within('010.0.0.1', '10.0.0.0/8')", "ip.within(nil, '10.0.0.0/8')",
    "ip.within('::1', '::ffff:0:0/95')", "base64.decode('Zg')", "base64.decode('Zh==')", "base64.decode('Z===')",
    "base64.decode('Zm8=Zm8=')", "base64.decode('Zm 8')", "hex.decode('abc')", "hex.decode('0g')",
  ])
  func `a text that is no version, address or encoding is nil`(_ call: String) throws {
    let outcome = try Bench(Bench.rule("decide('v', { (\(call)) == nil, type((select(2, \(call)))) })")).handle()
    let why = call.contains("decode") ? "string" : "nil"
    #expect(try JSONValue(parsing: outcome.decisions["v"] ?? "null") == [true, .string(why)])
  }

  @Test(arguments: [
    ("pick({}, 0)", "a sum above 0"), ("pick({ a = 0 }, 0)", "a sum above 0"), ("pick({ a = -1, b = 2 }, 0)", "of 'a'"),
    ("pick({ 1, 2 }, 0)", "must have names"), ("pick({ a = 1 }, 1)", "from 0 to less than 1"),
    ("pick({ a = 0 / 0 }, 0)", "of 'a'"), ("pick({ a = 1e308, b = 1e308 }, 0)", "a finite sum"),
    ("bucket()", "bucket's name must be a string"), ("text.fold(1)", "must be a string"),
    ("hex.encode()", "must be a string"), ("hash.hmac_sha256('k')", "hash.hmac_sha256's text must be a string"),
  ])
  func `a wrong argument is named`(_ call: String, _ message: String) throws {
    let failure = try #require(try Bench(Bench.rule("local x = \(call)")).handle().failure)
    #expect(failure.message.contains(message), "\(failure.message)")
  }

  @Test func `each letter has the case that Unicode gives it`() throws {
    let bench = try Bench(Bench.rule("decide('v', { text.upper(event.data.s), text.lower(event.data.s) })"))
    // utf8proc knows Unicode 15; later versions have capitals of letters that had none.
    func isKnown(_ scalar: Unicode.Scalar) -> Bool { (scalar.properties.age?.major ?? .max) <= 15 }
    var scalars: [Unicode.Scalar] = []
    for value in 0x80...0x1FFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value), isKnown(scalar) else { continue }
      let cases = [scalar.properties.uppercaseMapping, scalar.properties.lowercaseMapping]
      if cases.allSatisfy({ $0.unicodeScalars.allSatisfy(isKnown) }) { scalars.append(scalar) }
    }
    for start in stride(from: 0, to: scalars.count, by: 10_000) {
      let part = scalars[start..<min(start + 10_000, scalars.count)]
      let text = part.map { "\($0)\n" }.joined()
      let found = try JSONValue(
        parsing: bench.handle(JSONValue.object(["data": ["s": .string(text)]]).text).decisions["v"] ?? "null")
      for (index, mapping) in [\Unicode.Scalar.Properties.uppercaseMapping, \.lowercaseMapping].enumerated() {
        let lines = (found.arrayValue?[index].stringValue ?? "").unicodeScalars.split(separator: "\n").map(String.init)
        guard lines != part.map({ $0.properties[keyPath: mapping] }) else { continue }
        let wrong = zip(part, lines).first { $0.properties[keyPath: mapping] != $1 }
        Issue.record("\(wrong.map { "U+\(String($0.0.value, radix: 16)) is \($0.1)" } ?? "lines are missing")")
      }
    }
  }

  @Test func `buckets are spread evenly, and change with name and plugin`() throws {
    // A part of the keys at a time: a debug build draws hardly 1,000 within the processor time of an event.
    let run = """
      local counts = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
      for i = event.data.first, event.data.first + 199 do
        local at = math.floor(bucket("x", "user:" .. i) * 10) + 1
        counts[at] = counts[at] + 1
      end
      decide("counts", counts)
      decide("x", bucket("x", "a"))
      decide("y", bucket("y", "a"))
      """
    let one = try Bench(Bench.rule(run))
    var counts = [Int64](repeating: 0, count: 10)
    for first in stride(from: 1, to: 1000, by: 200) {
      let drawn = try one.handle(#"{"data":{"first":\#(first)}}"#, budget: Self.long).decisions["counts"]
      let part = try #require(try JSONValue(parsing: drawn ?? "null").arrayValue?.compactMap(\.intValue))
      counts = zip(counts, part).map { $0 + $1 }
    }
    #expect(counts.reduce(0, +) == 1000 && counts.allSatisfy { (60...140).contains($0) }, "\(counts)")
    let other = try Bench(Bench.rule(run, name: "u"), name: "u")
    let decisions = try [one, other].map { try $0.handle(#"{"data":{"first":1}}"#, budget: Self.long).decisions }
    #expect(Set(decisions.flatMap { [$0["x"], $0["y"]] }).count == 4)
  }

  // MARK: Patterns

  @Test(arguments: [
    "local found = text.find_re(event.id, '(')", "local wrong = 'a{2,1}' return text.find_re(event.id, wrong)",
    "if event.data.never then text.find_re(event.id, [[*]]) end",
  ])
  func `a pattern in the text is checked at load`(_ run: String) throws {
    let error = #expect(throws: LoadError.self) { try Bench(Bench.rule("\n" + run)) }
    #expect(error?.file == "t/plugin.lua" && error?.line == 5)
    #expect(error?.message.contains("text.find_re's pattern is wrong: ") == true)
  }

  @Test func `more patterns than are kept find the same`() throws {
    let run = """
      for round = 1, 3 do
        for i = 1, 100 do
          if text.find_re(event.data.s, "^x{" .. i .. "}y") ~= (i == 50 and 1 or nil) then error(i) end
        end
      end
      """
    let text = String(repeating: "x", count: 50) + "y"
    #expect(try Bench(Bench.rule(run)).handle(#"{"data":{"s":"\#(text)"}}"#, budget: Self.long).failure == nil)
  }

  @Test(arguments: [
    "(a*)*b", "(x+x+)+y", "^(a|aa)+$", "(?:a?){30}a{30}b", "(.*)(.*)(.*)(.*)(.*)b", "(a|b)*a(a|b){200}c",
  ])
  func `no pattern takes more than its budget`(_ pattern: String) throws {
    let bench = try Bench(Bench.rule("local s = ('a'):rep(100000) decide('v', (text.find_re(s, '\(pattern)')) or 0)"))
    let outcome = try bench.handle(budget: Self.long)
    #expect(outcome.decisions["v"] != nil || outcome.failure?.kind == .instructions || outcome.failure?.kind == .time)
  }
}
