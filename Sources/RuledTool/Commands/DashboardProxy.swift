internal import Glibc
internal import RuledCore

/// Serves a daemon that listens on its Unix socket alone on a port of the loopback interface, for a browser.
///
/// Bytes are passed on as they are. Each connection to the daemon begins with the line of the PROXY protocol: so the daemon asks each sender of
/// requests for a session, as everybody on this host can connect to the port, and does not trust the credentials of this process.
final class DashboardProxy {
  /// How many connections are served at a time; others wait.
  private static let connectionLimit = 128

  let port: UInt16
  private let listener: Int32
  private let socket: String
  private var connections: [ProxiedConnection] = []

  /// Listens on a port of 127.0.0.1; 0 lets the system choose it.
  init(port: UInt16, socket: String) throws(ToolError) {
    self.socket = socket
    let listener = Glibc.socket(
      AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
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

  func run() throws(ToolError) -> Never {
    while true { step() }
  }

  /// Waits for the next bytes or connections and passes them on.
  private func step() {
    let takesMore = connections.count < Self.connectionLimit
    var polled = [pollfd(fd: takesMore ? listener : -1, events: Int16(POLLIN), revents: 0)]
    for connection in connections { polled += connection.polled }
    guard poll(&polled, nfds_t(polled.count), -1) > 0 else { return }
    for (index, connection) in connections.enumerated() {
      connection.move(polled[1 + 2 * index].revents, polled[2 + 2 * index].revents)
    }
    connections.removeAll { $0.isOver }
    if polled[0].revents != 0 { accept() }
  }

  private func accept() {
    let browser = Glibc.accept(listener, nil, nil)
    guard browser >= 0 else { return }
    _ = fcntl(browser, F_SETFD, FD_CLOEXEC)
    _ = fcntl(browser, F_SETFL, O_NONBLOCK)
    do throws(ToolError) {
      let daemon = try Client.connect(to: socket)
      _ = fcntl(daemon, F_SETFL, O_NONBLOCK)
      connections.append(ProxiedConnection(browser: browser, daemon: daemon))
    } catch {
      let body = "\(error.message)\n"
      let answer = Array(
        "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n\(body)"
          .utf8)
      _ = send(browser, answer, answer.count, Int32(MSG_NOSIGNAL))
      close(browser)
    }
  }
}

/// One connection of a browser and the one to the daemon that serves it.
private final class ProxiedConnection {
  /// The bytes on their way from one socket to the other.
  private struct Pipe {
    static let capacity = 64 << 10

    let bytes = ByteBuffer()
    var isAtEnd = false
    /// Whether the destination was told so, or takes no more.
    var isOver = false

    var wantsMore: Bool { !isAtEnd && bytes.count < Self.capacity }
    var hasMore: Bool { !isOver && (bytes.count > 0 || isAtEnd) }

    mutating func fill(from source: Int32) {
      guard wantsMore else { return }
      let read = bytes.read(from: source)
      if read == 0 || read < 0 && errno != EAGAIN && errno != EINTR { isAtEnd = true }
    }

    mutating func drain(to destination: Int32) {
      guard !isOver else { return }
      if !bytes.send(to: destination) { (isAtEnd, isOver) = (true, true) }
      if isAtEnd, bytes.count == 0, !isOver {
        shutdown(destination, Int32(SHUT_WR))
        isOver = true
      }
    }
  }

  private let browser: Int32
  private let daemon: Int32
  private var requests = Pipe()
  private var responses = Pipe()

  init(browser: Int32, daemon: Int32) {
    self.browser = browser
    self.daemon = daemon
    requests.bytes.append("PROXY UNKNOWN\r\n" as StaticString)
  }

  deinit {
    close(browser)
    close(daemon)
  }

  var isOver: Bool { responses.isOver }

  /// The events to wait for at the browser's socket, and at the daemon's.
  var polled: [pollfd] {
    [Self.polled(browser, requests, responses), Self.polled(daemon, responses, requests)]
  }

  private static func polled(_ descriptor: Int32, _ incoming: Pipe, _ outgoing: Pipe) -> pollfd {
    let events = Int16((incoming.wantsMore ? POLLIN : 0) | (outgoing.hasMore ? POLLOUT : 0))
    return pollfd(fd: events == 0 ? -1 : descriptor, events: events, revents: 0)
  }

  /// Passes on as many bytes as the sockets allow, by the events that came.
  func move(_ browserEvents: Int16, _ daemonEvents: Int16) {
    let readable = Int16(POLLIN | POLLHUP | POLLERR)
    if browserEvents & readable != 0 { requests.fill(from: browser) }
    if daemonEvents & readable != 0 { responses.fill(from: daemon) }
    requests.drain(to: daemon)
    responses.drain(to: browser)
  }
}
