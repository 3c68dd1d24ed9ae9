import RuledCore
import TestSupport
import Testing

@testable import RuledWire

/// The requests that a reader finds in a stream of bytes.
private struct Verdict: Equatable, CustomStringConvertible {
  /// The accepted requests, each as `METHOD path body`.
  var requests: [String] = []
  /// The status of the error that ended the stream; 0 without one.
  var status = 0
  /// Whether the stream ends within a request.
  var isCut = false

  var description: String { "\(requests) \(status)\(isCut ? " cut" : "")" }

  /// Reads `bytes` in pieces that end at `cuts`.
  init(_ bytes: [UInt8], cuts: [Int] = [], limit: Int = 1 << 20) {
    let reader = HTTPRequestReader(bodyLimit: limit)
    var start = 0
    do throws(HTTPError) {
      for end in cuts + [bytes.count] {
        let piece = Array(bytes[start..<end])
        start = end
        let outcome = piece.withView { piece in
          Result { () throws(HTTPError) in try read(piece, reader) }
        }
        try outcome.get()
      }
      isCut = reader.isWithinRequest
    } catch { status = error.status }
  }

  init(_ requests: [String] = [], status: Int = 0, isCut: Bool = false) {
    self.requests = requests
    self.status = status
    self.isCut = isCut
  }

  private mutating func read(_ piece: ByteView, _ reader: HTTPRequestReader) throws(HTTPError) {
    var offset = 0
    while true {
      switch try reader.read(piece, from: &offset) {
      case .incomplete: return
      case .head: continue
      case .complete:
        let body = reader.isTooLarge ? "(too large)" : String(decoding: reader.body.bytes, as: UTF8.self)
        requests.append("\(reader.head.method) \(reader.head.target.path) \(body)")
        reader.reset()
      }
    }
  }
}

@Suite struct HTTPRequestReaderTests {
  @Test(arguments: HTTPCase.accepted)
  func `requests that follow the standard are accepted`(_ example: HTTPCase) {
    #expect(Verdict(Array(example.text.utf8)) == Verdict(example.requests))
  }

  @Test(arguments: HTTPCase.refused)
  func `requests that could be read in two ways are refused`(_ example: HTTPCase) {
    #expect(Verdict(Array(example.text.utf8)) == Verdict(status: example.status))
  }

  @Test(arguments: HTTPCase.refused)
  func `a request before a refused one is still accepted`(_ example: HTTPCase) {
    #expect(Verdict(Array((HTTPCase.next + example.text).utf8)) == Verdict(["GET /next "], status: example.status))
  }

  @Test(arguments: (HTTPCase.accepted + HTTPCase.refused).filter { $0.text.utf8.count < 1000 })
  func `the result is the same wherever the bytes are cut`(_ example: HTTPCase) {
    let bytes = Array(example.text.utf8)
    let whole = Verdict(bytes)
    for cut in 0...bytes.count { #expect(Verdict(bytes, cuts: [cut]) == whole, "cut at \(cut)") }
    #expect(Verdict(bytes, cuts: Array(1..<bytes.count)) == whole, "each byte alone")
  }

  @Test func `a request without its end is incomplete wherever it ends`() {
    let text = Array(
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nT: u\r\n\r\n".utf8)
    for end in 1..<text.count { #expect(Verdict(Array(text[..<end])) == Verdict(isCut: true)) }
  }

  @Test func `a body over the limit is skipped, and one far over it refused`() {
    func post(_ count: Int) -> [UInt8] {
      Array(
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n\(String(repeating: "x", count: count))".utf8)
    }
    let chunks = String(repeating: "1\r\nx\r\n", count: 40)
    let chunked = Array("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n".utf8)
    #expect(Verdict(post(16), limit: 16) == Verdict(["POST /x xxxxxxxxxxxxxxxx"]))
    #expect(Verdict(post(17) + Array(HTTPCase.next.utf8), limit: 16) == Verdict(["POST /x (too large)", "GET /next "]))
    #expect(Verdict(chunked, limit: 16) == Verdict(["POST /x (too large)"]))
    #expect(Verdict(post(272), limit: 16) == Verdict(status: 413))
    #expect(Verdict(chunked, limit: 1) == Verdict(status: 413))
  }

  @Test func `mutated streams have the same result however they are cut`() {
    var random = SeededRandom(seed: 13)
    let seeds = (HTTPCase.accepted + HTTPCase.refused).map { Array($0.text.utf8) }.filter { $0.count < 400 }
    let alphabet = Array("0123456789aA:;, \t\r\n\r\n\"=/@#%+-xX".utf8) + [0x00, 0x0B, 0x7F, 0x80, 0xFF]
    for _ in 0..<10_000 {
      var bytes = seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        let byte = alphabet.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = byte
        case 1: bytes.insert(byte, at: index)
        case 2: bytes.remove(at: index)
        default: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 9)], at: index)
        }
      }
      let cuts = (0..<Int.random(in: 1...6, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random)
      }
      #expect(Verdict(bytes, cuts: cuts.sorted()) == Verdict(bytes), "\(bytes) \(cuts.sorted())")
    }
  }
}
