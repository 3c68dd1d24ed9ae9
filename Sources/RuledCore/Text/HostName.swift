package enum HostName {
  /// The host in lower case, without its port and a trailing dot: the form in which hosts are compared.
  package static func normalized(_ host: String) -> String {
    var name = host.lowercased()[...]
    let port = name.utf8.lastIndex(of: UInt8(ascii: ":"))
    if let port, name[port...].dropFirst().utf8.allSatisfy(\.isDigit) { name = name[..<port] }
    return String(name.hasSuffix(".") ? name.dropLast() : name)
  }
}
