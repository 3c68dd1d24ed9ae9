/// A loopback address and port to listen on, as in `127.0.0.1:8787` or `[::1]:8787`.
package struct ListenAddress: Sendable, Equatable {
  /// The numeric address, without brackets.
  package var host: String
  /// The port; 0 lets the system choose.
  package var port: UInt16

  /// The address that `text` names, or nil if it names none or one that other hosts can reach.
  ///
  /// `localhost` is 127.0.0.1.
  package init?(_ text: String) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
    let digits = text[text.utf8.index(after: colon)...]
    guard digits.utf8.allSatisfy(\.isDigit), let port = UInt16(digits) else { return nil }
    self.port = port
    switch text[..<colon] {
    case "[::1]": host = "::1"
    case "localhost": host = "127.0.0.1"
    case let name:
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 4, parts[0] == "127",
        parts.allSatisfy({ part in UInt8(part).map { String($0) == part } ?? false })
      else { return nil }
      host = String(name)
    }
  }

  package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
