/// An absolute URL of the scheme `http` or `https`, as the configuration and the settings name receivers and stores.
package struct WebURL {
  let hasUser: Bool
  /// The path as it is written, empty if there is none.
  let path: Substring

  /// The URL that a text states; nil if it states none, or has a control character.
  package init?(_ text: String) {
    guard let scheme = ["http://", "https://"].first(where: text.lowercased().hasPrefix),
      text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    let rest = text.utf8.dropFirst(scheme.utf8.count).prefix { !"?#".utf8.contains($0) }
    let authority = rest.prefix { $0 != UInt8(ascii: "/") }
    path = Substring(rest[authority.endIndex...])
    let at = authority.lastIndex(of: UInt8(ascii: "@"))
    hasUser = at != nil
    let address = authority[(at.map(authority.index(after:)) ?? authority.startIndex)...]
    let bracket = address.first == UInt8(ascii: "[") ? address.firstIndex(of: UInt8(ascii: "]")) : address.startIndex
    guard let bracket else { return nil }
    let end = address[bracket...].firstIndex(of: UInt8(ascii: ":")) ?? address.endIndex
    let port = address[end...].dropFirst()
    guard Self.isHost(address[..<end]), port.isEmpty || port.allSatisfy(\.isDigit) && UInt16(Substring(port)) != nil
    else { return nil }
  }

  /// Whether a text is a name, or an address that has brackets if it begins with one.
  private static func isHost(_ host: Substring.UTF8View) -> Bool {
    let isBracketed = host.first == UInt8(ascii: "[")
    return host.count > (isBracketed ? 2 : 0) && !host.contains(UInt8(ascii: " "))
      && (!isBracketed || host.last == UInt8(ascii: "]"))
  }
}
