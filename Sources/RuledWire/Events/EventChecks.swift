import RuledCore
import RuledJSON

/// Checks the attributes of an event; each check throws `invalid_params` with the attribute's path.
enum EventChecks {
  /// A required text of 1 to `limit` bytes.
  static func name(
    _ value: TapeValue?, _ path: String, _ name: StaticString, limit: Int
  ) throws(RequestError) -> ByteView {
    guard let bytes = try text(value, path, name) else { throw error(path, name, "is required") }
    guard !bytes.isEmpty else { throw error(path, name, "must not be empty") }
    guard bytes.count <= limit else { throw error(path, name, "must be at most \(limit) bytes long") }
    return bytes
  }

  /// An optional text without control characters.
  static func text(_ value: TapeValue?, _ path: String, _ name: StaticString) throws(RequestError) -> ByteView? {
    guard let value else { return nil }
    guard let bytes = value.string else { throw error(path, name, "must be a string") }
    guard !bytes.hasControlCharacters else { throw error(path, name, "must not have control characters") }
    return bytes
  }

  /// An optional text without control characters that is not empty.
  static func id(_ value: TapeValue?, _ path: String) throws(RequestError) -> ByteView? {
    guard let bytes = try text(value, path, "id") else { return nil }
    guard !bytes.isEmpty else { throw error(path, "id", "must not be empty") }
    return bytes
  }

  /// An optional moment in RFC 3339.
  static func time(_ value: TapeValue?, _ path: String) throws(RequestError) -> Timestamp? {
    guard let value else { return nil }
    guard let bytes = value.string, let time = Timestamp(rfc3339: bytes) else {
      throw error(path, "time", "must be a time in RFC 3339, like \"2025-11-10T12:34:56.789Z\"")
    }
    return time
  }

  /// An optional boolean, false by default.
  static func bool(_ value: TapeValue?, _ path: String, _ name: StaticString) throws(RequestError) -> Bool {
    guard let value else { return false }
    guard let bool = value.bool else { throw error(path, name, "must be true or false") }
    return bool
  }

  /// Whether to explain the event, and whether with values: `true`, `false` or `"without_values"`.
  static func explain(_ value: TapeValue?, _ path: String) throws(RequestError) -> (Bool, values: Bool) {
    guard let value else { return (false, true) }
    if value.isString("without_values") { return (true, false) }
    guard let bool = value.bool else { throw error(path, "explain", "must be true, false or \"without_values\"") }
    return (bool, true)
  }

  /// Refuses an object or list with more parts than rules have memory for.
  static func size(_ value: TapeValue?, _ path: String) throws(RequestError) {
    guard let value, value.hasMoreParts(than: Limits.parts) else { return }
    throw .invalidParams(
      path: path, "has more than \(Limits.parts) lists, objects and members of objects: send it in parts")
  }

  static func string(_ value: TapeValue?, _ path: String, _ name: StaticString) throws(RequestError) {
    if let value, !value.isKind(.string) { throw error(path, name, "must be a string") }
  }

  /// Data in base64, which excludes `data`.
  static func base64(_ value: TapeValue?, _ path: String, hasData: Bool) throws(RequestError) {
    guard let value else { return }
    guard !hasData else { throw error(path, "data_base64", "excludes data") }
    guard let bytes = value.string, bytes.isBase64 else { throw error(path, "data_base64", "must be base64") }
  }

  /// An extension attribute: `[a-z0-9]{1,64}` and a scalar.
  static func `extension`(_ name: ByteView, _ value: TapeValue, _ path: String) throws(RequestError) {
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    guard !name.isEmpty, name.count <= Limits.extensionNameBytes,
      name.allSatisfy({ $0.isDigit || letters.contains($0) })
    else {
      throw .invalidParams(
        path: JSONPath.member(path, name),
        "is no attribute: names are 1 to \(Limits.extensionNameBytes) lower-case letters and digits")
    }
    guard !value.isContainer else {
      throw .invalidParams(path: JSONPath.member(path, name), "must be a string, a number or a boolean")
    }
  }

  private static func error(_ path: String, _ name: StaticString, _ detail: String) -> RequestError {
    .invalidParams(path: JSONPath.member(path, name), detail)
  }
}

extension ByteView {
  /// Whether the UTF-8 has a control character: of C0, DEL or of C1.
  var hasControlCharacters: Bool {
    if EightBytes.all(self, where: \.isPlainASCII, and: { 0x20..<0x7F ~= $0 }) { return false }
    var previous: UInt8 = 0
    for byte in self {
      if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0 && byte >= 0x80) { return true }
      previous = byte
    }
    return false
  }

  /// Whether the bytes are base64 (RFC 4648 section 4), padded and without line breaks.
  var isBase64: Bool {
    guard count.isMultiple(of: 4) else { return false }
    var length = count
    while length > 0, length > count - 2, self[length - 1] == UInt8(ascii: "=") { length -= 1 }
    return self[..<length].allSatisfy {
      $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/")
    }
  }
}
