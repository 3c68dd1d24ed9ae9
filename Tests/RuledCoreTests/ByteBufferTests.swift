import RuledJSON
import TestSupport
import Testing

@testable import RuledCore

@Suite struct ByteBufferTests {
  @Test func `Decimals are those of the language`() {
    var random = SeededRandom(seed: 6)
    let buffer = ByteBuffer(capacity: 0)
    var values: [Int64] = [.min, .max, 0, -1, 9, 10, 99, 100, 999_999_999_999_999_999, 1_000_000_000_000_000_000]
    for _ in 0..<2_000 { values.append(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)) }
    for value in values {
      buffer.removeAll()
      buffer.append(decimal: value)
      #expect(buffer.text == String(value))
    }
  }

  @Test func `A buffer behaves like an array`() {
    var random = SeededRandom(seed: 7)
    let buffer = ByteBuffer(capacity: 0)
    var model: [UInt8] = []
    for _ in 0..<2_000 {
      let piece = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        piece.withView { buffer.append($0) }
        model += piece
      case 2:
        for byte in piece { buffer.append(byte) }
        model += piece
      case 3:
        let count = Int.random(in: 0...buffer.count, using: &random)
        buffer.removeFirst(count)
        model.removeFirst(count)
      default:
        let count = Int.random(in: 0...buffer.count, using: &random)
        buffer.truncate(to: count)
        model.removeLast(model.count - count)
      }
      #expect(Array(buffer.bytes) == model)
    }
  }

  @Test func `Every character of a JSON string reads back`() throws {
    let text = String(String.UnicodeScalarView((0..<0x300 as Range<UInt32>).compactMap(Unicode.Scalar.init)))
    let buffer = ByteBuffer()
    buffer.append(jsonString: text)
    #expect(try JSONValue(parsing: buffer.text) == .string(text))
  }
}

extension ByteBufferTests {
  @Test func `JSON strings of every length are escaped byte by byte`() {
    var random = SeededRandom(seed: 8)
    let buffer = ByteBuffer(capacity: 0)
    let special: [UInt8] = [
      0x00, 0x08, 0x0A, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x7F, 0x80, 0xA2, 0xDC, 0xFF,
    ]
    for _ in 0..<5_000 {
      var bytes = (0..<Int.random(in: 0..<36, using: &random)).map { _ in UInt8.random(in: 0x30...0x39, using: &random)
      }
      for _ in 0..<Int.random(in: 0..<3, using: &random) {
        guard let index = bytes.indices.randomElement(using: &random) else { break }
        bytes[index] = special.randomElement(using: &random) ?? 0
      }
      buffer.removeAll()
      bytes.withView { buffer.append(jsonString: $0) }
      #expect(Array(buffer.bytes) == Self.escaped(bytes))
      let isPlain = bytes.allSatisfy { 0x20..<0x7F ~= $0 }
      #expect(bytes.withView { EightBytes.all($0, where: \.isPlainASCII) { 0x20..<0x7F ~= $0 } } == isPlain)
    }
  }

  private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
    let short: [UInt8: String] = [8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: "\\\"", 92: "\\\\"]
    let body = bytes.flatMap { byte -> [UInt8] in
      if let known = short[byte] { return Array(known.utf8) }
      guard byte < 0x20 else { return [byte] }
      return Array(("\\u00" + (byte < 16 ? "0" : "") + String(byte, radix: 16)).utf8)
    }
    return [0x22] + body + [0x22]
  }
}
