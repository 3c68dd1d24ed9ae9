/// Hosts of `Host` headers and authorities.
enum HTTPHost {
  /// Whether the text is a host with or without a port, or empty.
  static func isValid(_ text: String) -> Bool {
    var name = text.utf8[...]
    if let colon = name.lastIndex(of: UInt8(ascii: ":")), name[colon...].dropFirst().allSatisfy(\.isDigit) {
      let port = name[colon...].dropFirst()
      guard port.isEmpty || UInt16(Substring(port)) != nil else { return false }
      name = name[..<colon]
    }
    if name.first == UInt8(ascii: "["), name.last == UInt8(ascii: "]") {
      return name.count > 2
        && name.dropFirst().dropLast().allSatisfy {
          $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
    }
    return name.allSatisfy { $0.isHexDigit || $0.isLetter || "-._~%!$&'()*+;=".utf8.contains($0) }
  }
}
