import RuledCore

/// The paths by which errors name the members of a request, like `params.data.items[3].x`.
enum JSONPath {
  private static let excerptBytes = 64

  /// The path of the member `name` of the value at `parent`.
  static func member(_ parent: String, _ name: ByteView) -> String {
    let isPlain = !name.isEmpty && name.count <= excerptBytes && name.allSatisfy(isWord)
    if isPlain { return "\(parent).\(name.text)" }
    let quoted = ByteBuffer()
    quoted.append(jsonString: excerpt(name))
    return "\(parent)[\(quoted.text)]"
  }

  static func member(_ parent: String, _ name: StaticString) -> String { "\(parent).\(name)" }

  /// The text, or its first 64 bytes and an ellipsis.
  static func excerpt(_ text: ByteView) -> String {
    guard text.count > excerptBytes else { return text.text }
    var end = excerptBytes
    while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
    return text.extracting(..<end).text + "…"
  }

  private static func isWord(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_") }
}
