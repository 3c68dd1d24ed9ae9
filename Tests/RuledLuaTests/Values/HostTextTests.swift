import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// What the host's functions make of long and of strange texts, and what it costs.
@Suite(.serialized) struct HostTextTests {
  /// The decision `result` that a rule takes from `event.data.text`, as JSON.
  private func result(_ text: String, in bench: Bench) throws -> JSONValue {
    let outcome = try bench.handle(JSONValue.object(["data": ["text": .string(text)]]).text)
    #expect(outcome.failure == nil, "\(text.debugDescription)")
    return try JSONValue(parsing: outcome.decisions["result"] ?? "null")
  }

  @Test func `Lower case of a long text is that of its parts, wherever these end`() throws {
    let bench = try Bench(Bench.rule("decide('result', text.lower(event.data.text))"))
    for letter in ["Ä", "ẞ", "𐐀", "İ"] {
      for shift in 0...4 {
        let text = String(repeating: "A", count: shift) + String(repeating: letter, count: 9_000)
        #expect(try result(text, in: bench) == JSONValue.string(text.lowercased()))
      }
    }
  }

  @Test func `White space goes from both ends, whatever is between`() throws {
    let bench = try Bench(Bench.rule("decide('result', text.trim(event.data.text))"))
    let long = String(repeating: " \u{3000}\u{A0}\t\u{2028}", count: 6_000)
    for text in ["", " ", long, long + "a" + long, "a" + long + "b", "\u{3000}", "\u{FEFF}a", "é\u{85}"] {
      #expect(try result(text, in: bench) == JSONValue.string(String(text[...].trimmed)))
    }
  }

  @Test func `Bytes that are not UTF-8 are repaired`() throws {
    let bench = try Bench(
      Bench.rule(#"decide('lower', text.lower("\xE4A\xFF")) decide('trim', text.trim(" \x80 a \xF0\x9F "))"#))
    let decisions = try bench.handle().decisions
    #expect(decisions["lower"] == "\"\u{FFFD}a\u{FFFD}\"")
    #expect(decisions["trim"] == "\"\u{FFFD} a \u{FFFD}\"")
  }

  // MARK: Budgets

  /// Calls whose text of megabytes is charged, before any work, with more than a small budget has.
  private static let charged = [
    "text.lower(s)", "text.lower(w)", "text.trim(s)", "text.trim((' '):rep(1000):rep(4000))", "url.parse('a:' .. s)",
    "url.parse('a:?' .. ('%F0%9F%98'):rep(1000):rep(400))", "hash.sha256(s)", "json.encode(s:sub(1, 1000000))",
    "json.decode(s:sub(1, 1000000))",
    "peek(s)", "calendar.day(0, s)", "calendar.parse(s)", "calendar.at(0, s, 'UTC')", "data(s)",
    "decide('k', s:sub(1, 1000000))", "emit('client', 't', { s = s:sub(1, 1000000) })",
    "log.info('x', { s = s:sub(1, 1000000) })", "send('user:2', 't', { s = s:sub(1, 1000000) })",
    "raise('t', { s = s:sub(1, 1000000) })", "text.upper(w)", "text.fold(w)", "text.find_re(s, 'b')",
    "text.find_re('', s)", "text.find_re(s:sub(1, 100000), '(a)*(a)*(a)*')", "hash.hmac_sha256(s, '')",
    "hash.hmac_sha256('', s)", "base64.encode(s)", "base64.decode(s)", "hex.encode(s)", "hex.decode(s)",
    "url.encode(s)", "semver.compare(s, s)", "ip.within(s, s)", "bucket(s)", "bucket('', s)",
  ]

  @Test(arguments: charged)
  func `a function charges the bytes that it reads`(_ call: String) throws {
    let bench = try Bench(
      Bench.rule("local s, w = ('a'):rep(1000):rep(4000), ('Ä'):rep(1000):rep(2000)\nlocal x = \(call)"))
    let budget = Budget(instructions: 100_000, memoryBytes: 64 << 20, processorTime: 2_000_000)
    let failure = try #require(try bench.handle(budget: budget).failure, "it was not stopped")
    #expect(failure.kind == .instructions)
    #expect(failure.file == "t/plugin.lua" && failure.line == 5, "\(failure)")
  }

  @Test(arguments: [
    "hash.sha256(s)", "text.lower(w)", "text.trim(s)", "url.parse('a:?' .. s)", "text.fold(w)", "text.upper(w)",
    "text.find_re(s, 'b')", "text.find_re(('ab'):rep(10000), '(a|b)*a(a|b){200}c')", "base64.encode(s)",
    "hash.hmac_sha256('', s)",
  ])
  func `a function is left when the time is over`(_ call: String) throws {
    let bench = try Bench(
      Bench.rule(
        "local s, w = (' '):rep(1000):rep(4000), ('Ä'):rep(1000):rep(2000)\nwhile true do local x = \(call) end"))
    let budget = Budget(instructions: .max / 4, memoryBytes: 160 << 20, processorTime: 20_000)
    #expect(try bench.handle(budget: budget).failure?.kind == .time)
  }

  @Test func `a long name is no name`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local s = ("a"):rep(1000)
        decide("due", timer.due(s) == nil)
        decide("parse", calendar.parse(s) == nil)
        decide("zone", select(2, pcall(calendar.day, 0, s)))
        decide("data", select(2, pcall(data, s)))
        """))
    let decisions = try bench.handle().decisions
    #expect(decisions["due"] == "true" && decisions["parse"] == "true")
    #expect(decisions["zone"]?.contains("the time zone is longer than 256 bytes") == true)
    #expect(decisions["data"]?.contains("the name of data's file is longer than 256 bytes") == true)
  }

  // MARK: Data

  @Test func `all JSON files of the folder are checked at load, used or not`() throws {
    do {
      _ = try Bench(Bench.rule("if event.data.a then data('half.json') end"), data: ["half.json": "{\n\"a\": [1,\n}\n"])
      Issue.record("it loads")
    } catch let error as LoadError {
      #expect(error.file == "t/half.json" && error.line == 3, "\(error)")
    }
  }

  @Test func `a byte order mark at the start of a rule's file and of a data file is skipped`() throws {
    let mark = "\u{FEFF}"
    let bench = try Bench(
      mark + Bench.rule("decide('list', { data('list.json'), m })", before: "local m = require('m')"),
      modules: ["m.lua": mark + "return 2"], data: ["list.json": mark + "[1]"])
    #expect(try bench.handle().decisions["list"] == "[[1],2]")
  }

  @Test func `data within a function is the value decoded at load`() throws {
    let large = "[" + (1...200_000).map { "\"\($0)\"" }.joined(separator: ",") + "]"
    let bench = try Bench(
      Bench.rule("decide('n', #data('large.json'))"),
      data: ["large.json": large, "b.json": "{\"a\":12345678901234567890}"])
    #expect(try bench.handle(budget: Budget(instructions: 1_000, memoryBytes: 1 << 20)).decisions["n"] == "200000")
  }
}
