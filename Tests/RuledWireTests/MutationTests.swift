import RuledCore
import RuledJSON
import TestSupport
import Testing

@testable import RuledWire

@Suite("Mutated input")
struct MutationTests {
  @Test
  func `Nothing traps, and two parsers agree on which texts are JSON and on their values`() throws {
    let seeds = try Seeds.lines()
    try #require(seeds.count > 10)
    var random = SeededRandom(seed: 11)
    let parser = RequestParser()
    let alphabet = Array("{}[]\",:\\u0123456789abcdefDE+-.tfn \t\r".utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC3, 0xED, 0xF0]
    for _ in 0..<8_000 {
      var line = seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 0...4, using: &random) { mutate(&line, alphabet, &random) }
      check(line, parser)
    }
  }

  private func mutate(_ line: inout [UInt8], _ alphabet: [UInt8], _ random: inout SeededRandom) {
    guard !line.isEmpty else { return }
    let index = Int.random(in: 0..<line.count, using: &random)
    let byte = alphabet.randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<5, using: &random) {
    case 0: line[index] = byte
    case 1: line.insert(byte, at: index)
    case 2: line.remove(at: index)
    case 3: line.removeSubrange(index..<min(line.count, index + 9))
    default:
      let other = Int.random(in: 0..<line.count, using: &random)
      line.insert(contentsOf: line[min(index, other)..<max(index, other)], at: index)
    }
  }

  private func check(_ line: [UInt8], _ parser: RequestParser) {
    // The bytes behind a line must not change its meaning: digits would make a number longer, a quote end a string.
    let padded = line + [UInt8](repeating: line.count.isMultiple(of: 2) ? 0x31 : 0x22, count: 64)
    padded.withView { buffer in
      let bytes = buffer.extracting(..<line.count)
      let expected = try? ReferenceJSON.value(of: bytes)
      let copied = try? parser.value(bytes)
      #expect((copied != nil) == (expected != nil), "\(String(decoding: bytes, as: UTF8.self))")
      let root = try? parser.value(bytes, readable: buffer.count)
      #expect((root != nil) == (expected != nil), "\(String(decoding: bytes, as: UTF8.self))")
      if let root, let expected {
        let text = bytes.trimmedJSON
        #expect(JSONValue(root) == expected, "\(String(decoding: bytes, as: UTF8.self))")
        checkText(root, text)
      }
      switch parser.parseRequest(bytes, readable: buffer.count) {
      case .invalid: break
      case .single(let message): decode(message)
      case .batch(var batch): while let message = batch.next() { decode(message) }
      }
    }
  }

  /// Checks that the text of every part is what the tape holds.
  private func checkText(_ part: TapeValue, _ text: ByteView) {
    #expect((try? ReferenceJSON.value(of: text)) == JSONValue(part))
    if part.kind == .object {
      var cursor = MemberCursor(part, text: text)
      while let member = cursor.next() { checkText(member.value, member.text) }
    } else if part.kind == .array {
      var cursor = ElementCursor(part, text: text)
      while let element = cursor.next() { checkText(element.value, element.text) }
      #expect(cursor.isAtEnd)
    }
  }

  private func decode(_ message: RequestMessage) {
    guard case .request(let request) = message else { return }
    if let event = try? EventView(request) {
      var extensions = event.extensions
      while extensions.next() != nil {}
    }
    _ = try? QueryParams(request)
    _ = try? WatchParams(request)
    _ = try? CountersParams(request)
    _ = try? ClockParams(request)
    _ = try? ParkedSelection(request)
    _ = try? PageParams(request)
  }
}
