import RuledCore
import Testing

@testable import RuledWire

@Suite("Lines")
struct LineFramerTests {
  /// The lines that `input` makes when it arrives in pieces of the given sizes, `too large` for one over the limit.
  private func lines(_ input: [UInt8], limit: Int, pieces: () -> Int) -> [String] {
    var framer = LineFramer(limit: limit)
    let buffer = ByteBuffer(capacity: 16)
    var lines: [String] = []
    var offset = 0
    while offset < input.count {
      let piece = input[offset..<min(input.count, offset + pieces())]
      framer.prepare(buffer, room: piece.count)
      piece.withUnsafeBytes { buffer.append($0) }
      offset += piece.count
      while let frame = framer.next(in: buffer) { lines.append(text(frame)) }
    }
    if let frame = framer.finish(in: buffer) { lines.append(text(frame)) }
    #expect(framer.pending(in: buffer) == 0)
    return lines
  }

  private func text(_ frame: Frame) -> String {
    switch frame {
    case .tooLarge: return "too large"
    case .line(let bytes, let readable):
      #expect(readable >= bytes.count + LineFramer.padding)
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  @Test("Lines end with a newline or with the input, and blank ones are passed over")
  func plainLines() {
    let input = Array("one\n\n \t\r\ntwo\r\n  three\nlast".utf8)
    #expect(lines(input, limit: 100) { 1000 } == ["one", "two\r", "  three", "last"])
    #expect(lines(input, limit: 100) { 1 } == ["one", "two\r", "  three", "last"])
    #expect(lines(Array("x\n  ".utf8), limit: 100) { 3 } == ["x"])
    #expect(lines([], limit: 100) { 1 } == [])
  }

  @Test("A line of just the limit passes, one byte more is told once and skipped, and the next line is read")
  func limit() {
    let input = Array("12345\n123456\n1\n123456789012345\n12345".utf8)
    for size in 1...input.count {
      #expect(lines(input, limit: 5) { size } == ["12345", "too large", "1", "too large", "12345"])
    }
    #expect(lines(Array("1234567".utf8), limit: 5) { 2 } == ["too large"])
  }

  @Test("However the bytes are split, the lines are the same")
  func randomSplits() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<300 {
      let input = (0..<Int.random(in: 0...400, using: &random)).map { _ in
        "ab {}\n\n \r".utf8.randomElement(using: &random) ?? 0
      }
      let limit = Int.random(in: 1...20, using: &random)
      let whole = lines(input, limit: limit) { input.count }
      #expect(lines(input, limit: limit) { Int.random(in: 1...9, using: &random) } == whole)
      #expect(lines(input, limit: limit) { 1 } == whole)
    }
  }

  @Test("A line of a mebibyte that arrives byte by byte is framed, one byte more is not")
  func dribble() {
    var input = [UInt8](repeating: UInt8(ascii: "x"), count: Limits.requestBytes)
    #expect(lines(input + [0x0A], limit: Limits.requestBytes) { 1 }.first?.utf8.count == Limits.requestBytes)
    input.append(UInt8(ascii: "x"))
    #expect(lines(input + Array("\ny\n".utf8), limit: Limits.requestBytes) { 1 } == ["too large", "y"])
  }

  @Test("Memory does not grow with what is skipped")
  func skippingMemory() {
    var framer = LineFramer(limit: 100)
    let buffer = ByteBuffer(capacity: 16)
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1000)
    for _ in 0..<1000 {
      framer.prepare(buffer, room: piece.count)
      piece.withUnsafeBytes { buffer.append($0) }
      while framer.next(in: buffer) != nil {}
    }
    #expect(buffer.capacity < 10_000)
  }
}
