/// Hosts as they are compared.
package enum HTTPHost {
  /// A `Host` header's value in lower case, without its port and a trailing dot.
  package static func plain(_ host: String) -> String {
    var name = host.lowercased()[...]
    let port = name.utf8.lastIndex(of: UInt8(ascii: ":"))
    if let port, name[port...].dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }) { name = name[..<port] }
    return String(name.hasSuffix(".") ? name.dropLast() : name)
  }
}
