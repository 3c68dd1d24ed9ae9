import RuledCore

struct ObjectRequest {
  enum Body {
    case none
    case bytes([UInt8])
    case file(descriptor: Int32, bytes: Int)
  }

  var method: String
  /// The URL, whose query is sorted and escaped as the signature has it.
  var url: String
  var body = Body.none
  /// The SHA-256 of the body, in hexadecimal digits.
  var digest = SHA256.hash("").hex

  var bodyBytes: Int {
    switch body {
    case .none: 0
    case .bytes(let bytes): bytes.count
    case .file(_, let bytes): bytes
    }
  }
}
