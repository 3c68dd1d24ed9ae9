/// Where a node listens, as the others reach it: a host and a port, as in `10.0.0.5:7433`, `db1:7433` or `[fd00::5]:7433`.
package struct NodeAddress: Sendable, Equatable, CustomStringConvertible {
  /// A name or a numeric address, without brackets.
  package let host: String
  package let port: UInt16

  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, !host.utf8.contains(0) else { return nil }
    self.host = String(host)
    self.port = port
  }

  /// Whether other hosts can use the address: it states a port, and is not that of all of a host's networks.
  var isReachable: Bool { port > 0 && !["0.0.0.0", "::", "*"].contains(host) }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
