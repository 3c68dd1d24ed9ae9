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

  @Test func `A buffer does what an array does`() {
    var random = SeededRandom(seed: 7)
    let buffer = ByteBuffer(capacity: 0)
    var model: [UInt8] = []
    for _ in 0..<2_000 {
      let piece = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        piece.withUnsafeBytes { buffer.append($0) }
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

  @Test func `An error object carries its code, number and details`() throws {
    let buffer = ByteBuffer()
    RequestError.invalidParams(path: "params.data", "is no \"object\"").write(to: buffer)
    let expected: JSONValue = [
      "code": -32602, "message": "params.data: is no \"object\"",
      "data": ["code": "invalid_params", "path": "params.data", "detail": "is no \"object\""],
    ]
    #expect(try JSONValue(parsing: buffer.text) == expected)
    #expect(Set(RequestError.Code.allCases.map(\.number)).count == RequestError.Code.allCases.count)
  }
}
