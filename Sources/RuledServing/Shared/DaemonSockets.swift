import Glibc
package import RuledCore
package import RuledIO

/// The sockets that new clients connect to: handed over by systemd, or new ones.
package final class DaemonSockets {
  /// The Unix sockets: all that systemd has handed over, or the configured one.
  package let lines: [Int32]
  /// The loopback listener for HTTP.
  package let api: Int32?
  /// The one for the plugins' sites.
  package let sites: Int32?
  /// The token that clients of `api` send with each request.
  package let token: BearerToken?
  /// The configured Unix socket, if it was made here.
  private var made: ListeningSocket?
  private var isOpen = true

  /// Opens the configured sockets; an inherited socket without a use is an error.
  package init(_ configuration: Configuration, inherited: SocketActivation.Sockets) throws(StartError) {
    if let problem = Self.unused(of: inherited, configuration) { throw StartError(problem, isLasting: true) }
    if inherited.unix.isEmpty {
      do throws(ListenError) {
        let socket = try ListeningSocket(path: configuration.socket)
        lines = [socket.descriptor]
        made = consume socket
      } catch { throw StartError(error.description) }
    } else {
      lines = inherited.unix.map(\.descriptor)
      made = nil
    }
    let needsToken = configuration.http.listen != nil
    token = try configuration.http.tokenFile.flatMap { (file) throws(StartError) in
      needsToken ? try BearerToken(file: file) : nil
    }
    var handed = inherited.tcp
    api = try Self.listen(configuration.http.listen, "listen", configuration, &handed)
    sites = try Self.listen(configuration.http.sites, "sites", configuration, &handed)
  }

  /// Why a start refuses systemd's sockets: some would have no use; nil if all have one.
  package static func unused(of inherited: SocketActivation.Sockets, _ configuration: Configuration) -> String? {
    guard inherited.others.isEmpty else {
      return "systemd hands over \(list(inherited.others)), which is no stream socket that listens, Unix or TCP: "
        + "remove it from its unit, or disable the unit"
    }
    var tcp = inherited.tcp
    for address in [configuration.http.listen, configuration.http.sites].compactMap({ $0 }) {
      if let index = index(of: address, in: tcp) { tcp.remove(at: index) }
    }
    guard !tcp.isEmpty else { return nil }
    return "systemd hands over \(list(tcp)), a TCP socket at neither http.listen nor http.sites: set the same loopback "
      + "address and port in the configuration, or disable the socket's unit"
  }

  private static func index(of address: ListenAddress, in sockets: [SocketActivation.Inherited]) -> Int? {
    sockets.firstIndex { LoopbackSocket.isBound($0.descriptor, to: address) }
  }

  private static func list(_ sockets: [SocketActivation.Inherited]) -> String {
    sockets.map(\.description).joined(separator: ", ")
  }

  deinit { close() }

  /// Closes the sockets; false if they were closed before.
  @discardableResult
  func close() -> Bool {
    guard isOpen else { return false }
    isOpen = false
    for descriptor in [api, sites].compactMap({ $0 }) { SystemCalls.close(descriptor) }
    if made == nil { for descriptor in lines { SystemCalls.close(descriptor) } }
    made = nil
    return true
  }

  /// The error of a start under `delivery = "courier"` that would have to open the address of a key of `http`, as systemd hands over no socket at it.
  package static func needsUnit(_ key: String) -> String {
    let unit = key == "sites" ? "ruled-sites.socket" : "ruled-http.socket"
    return "with delivery = \"courier\" the daemon opens no network socket: enable \(unit), by which systemd opens the "
      + "one for http.\(key), or remove http.\(key); the Unix socket speaks HTTP too"
  }

  /// A socket at a configured address: one that systemd has handed over, or a new one.
  private static func listen(
    _ address: ListenAddress?, _ key: String, _ configuration: Configuration,
    _ handed: inout [SocketActivation.Inherited]
  ) throws(StartError) -> Int32? {
    guard let address else { return nil }
    if let index = index(of: address, in: handed) {
      return handed.remove(at: index).descriptor
    }
    guard configuration.delivery == .daemon else { throw StartError(needsUnit(key), isLasting: true) }
    do throws(SystemError) { return try LoopbackSocket.listen(address) } catch {
      throw StartError("http.\(key) '\(address.text)' can't be listened on: \(error)")
    }
  }
}

package enum LoopbackSocket {
  /// A socket that listens at the address; the caller owns it.
  package static func listen(_ address: ListenAddress) throws(SystemError) -> Int32 {
    guard let numeric = NumericAddress(host: address.host, port: address.port) else {
      throw SystemError(EINVAL, call: "bind", context: address.text)
    }
    return try numeric.listen().release()
  }

  package static func isBound(_ descriptor: Int32, to address: ListenAddress) -> Bool {
    NumericAddress(of: descriptor)?.description == address.text
  }
}
