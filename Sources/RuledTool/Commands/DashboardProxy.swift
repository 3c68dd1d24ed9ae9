internal import Glibc
internal import RuledCore
internal import RuledThreads

/// Serves a daemon that listens on its Unix socket alone on a port of the loopback interface, for a browser.
///
/// Bytes are passed on as they are. Each connection to the daemon begins with the line of the PROXY protocol: so the daemon asks each sender of
/// requests for a session, as everybody on this host can connect to the port, and does not trust the credentials of this process.
final class DashboardProxy: Sendable {
  /// How many connections are served at a time; others wait.
  private static let connectionLimit = 128
  private static let stackBytes = 256 << 10

  let port: UInt16
  private let listener: Int32
  private let socket: String

  /// Listens on a port of 127.0.0.1; 0 lets the system choose it.
  init(port: UInt16, socket: String) throws(ToolError) {
    self.socket = socket
    let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    self.listener = listener
    self.port = UInt16(bigEndian: address.sin_port)
    guard !isListening else { return }
    let reason = String(cString: strerror(errno))
    throw ToolError("127.0.0.1:\(port) can't be listened on: \(reason); name another port with --port")
  }

  deinit { close(listener) }

  func run() throws -> Never {
    for number in 1..<Self.connectionLimit {
      _ = try Thread(name: "proxy-\(number)", stackBytes: Self.stackBytes) { [self] in while true { serve() } }
    }
    while true { serve() }
  }

  /// Waits for a connection, and passes its bytes on until the daemon ends it.
  private func serve() {
    let browser = accept(listener, nil, nil)
    guard browser >= 0 else { return }
    defer { close(browser) }
    do {
      let daemon = try Client.connect(to: socket)
      defer { close(daemon) }
      Self.send("PROXY UNKNOWN\r\n", to: daemon)
      let requests = try Thread(name: "proxy-requests", stackBytes: Self.stackBytes) {
        Self.pass(from: browser, to: daemon)
      }
      Self.pass(from: daemon, to: browser)
      for descriptor in [browser, daemon] { shutdown(descriptor, Int32(SHUT_RDWR)) }
      requests.join()
    } catch {
      let body = ErrorReport(error).lines.map { "\($0)\n" }.joined()
      let head = "content-type: text/plain; charset=utf-8\r\ncontent-length: \(body.utf8.count)\r\nconnection: close"
      Self.send("HTTP/1.1 502 Bad Gateway\r\n\(head)\r\n\r\n\(body)", to: browser)
    }
  }

  /// Passes bytes on until one side ends, and says so to the destination.
  private static func pass(from source: Int32, to destination: Int32) {
    let bytes = ByteBuffer(capacity: 65_536)
    while true {
      let count = bytes.read(from: source)
      if count < 0, errno == EINTR { continue }
      guard count > 0, send(bytes.bytes, to: destination) else { break }
      bytes.removeAll()
    }
    shutdown(destination, Int32(SHUT_WR))
  }

  private static func send(_ text: String, to destination: Int32) { _ = text.withView { send($0, to: destination) } }

  /// Sends all bytes; false if the destination takes no more.
  private static func send(_ bytes: ByteView, to destination: Int32) -> Bool {
    moveWhole(bytes.count) {
      Glibc.send(destination, bytes.baseAddress?.advanced(by: $0), bytes.count - $0, Int32(MSG_NOSIGNAL))
    } == bytes.count
  }
}
