import RuledCore
import RuledEngine

/// The sockets that new clients connect to: those that systemd has handed over, or new ones.
final class DaemonSockets {
  /// The Unix socket.
  let lines: ListeningSocket
  /// The loopback listener for HTTP.
  let api: Int32?
  /// The one for the plugins' sites.
  let sites: Int32?
  /// What clients of `api` send with each request.
  let token: BearerToken?

  /// Opens what the configuration names.
  init(_ configuration: Configuration, inherited: SocketActivation.Sockets) throws(StartError) {
    lines = try Self.lines(configuration, inherited)
    let needsToken = configuration.http.listen != nil
    token = try configuration.http.tokenFile.flatMap { (file) throws(StartError) in
      needsToken ? try BearerToken(file: file) : nil
    }
    var handed = inherited.tcp
    api = try Self.listen(configuration.http.listen, "http.listen", configuration, &handed)
    sites = try Self.listen(configuration.http.sites, "http.sites", configuration, &handed)
    guard handed.isEmpty else {
      throw StartError(
        "systemd hands over a TCP socket at neither http.listen nor http.sites: set the same loopback address and port in "
          + "the configuration, or disable the socket's unit")
    }
  }

  deinit {
    for descriptor in [api, sites].compactMap({ $0 }) { SystemCalls.close(descriptor) }
  }

  private static func lines(
    _ configuration: Configuration, _ inherited: SocketActivation.Sockets
  ) throws(StartError) -> ListeningSocket {
    if let descriptor = inherited.unix {
      do throws(SystemError) { return try ListeningSocket(inheriting: descriptor) } catch {
        throw StartError("the socket that systemd handed over can't be used: \(error)")
      }
    }
    do throws(ListenError) {
      return try ListeningSocket(path: configuration.socket)
    } catch { throw StartError(error.description) }
  }

  /// A socket at a configured address: one that systemd has handed over, or a new one.
  private static func listen(
    _ address: ListenAddress?, _ key: String, _ configuration: Configuration, _ handed: inout [Int32]
  ) throws(StartError) -> Int32? {
    guard let address else { return nil }
    if let index = handed.firstIndex(where: { LoopbackSocket.isBound($0, to: address) }) {
      return handed.remove(at: index)
    }
    guard configuration.delivery == .daemon else {
      let unit = key == "http.sites" ? "ruled-sites.socket" : "ruled-http.socket"
      throw StartError(
        "with delivery = \"courier\" the daemon opens no network socket: enable \(unit), by which systemd opens the one "
          + "for \(key), or remove \(key); the Unix socket speaks HTTP too")
    }
    do throws(SystemError) { return try LoopbackSocket.listen(address) } catch {
      throw StartError("\(key) '\(address.text)' can't be listened on: \(error)")
    }
  }
}
