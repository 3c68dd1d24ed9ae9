import Glibc
import RuledThreads
import Synchronization

@testable import RuledServing

/// A receiver of effects: an HTTP/1.1 server on the loopback that records its requests.
final class Receiver: Sendable {
  /// A request as it arrived.
  struct Request: Sendable {
    let method: String
    let path: String
    let headers: [String: String]
    let body: String
    /// How many others were under way when it arrived.
    let concurrent: Int
  }

  /// The answer to a request.
  struct Answer: Sendable {
    var status = 200
    var headers: [String] = []
    /// How long the receiver waits before it answers, in milliseconds.
    var delay: UInt32 = 0
    var body = "ok"
    /// What is sent instead, byte for byte; the connection is then closed after `hangs` milliseconds.
    var raw: String?
    var hangs: UInt32 = 0
    /// Whether the end of that is a reset.
    var resets = false
  }

  private struct State {
    var requests: [Request] = []
    var active = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  private let listener: Int32
  private let answer: @Sendable (_ index: Int, Request) -> Answer
  let port: UInt16

  /// A receiver on any port, whose answer to the nth request, from 0, `answer` makes; unless it `isUp`, it refuses connections until `start`.
  init(
    isUp: Bool = true, _ answer: @escaping @Sendable (_ index: Int, Request) -> Answer = { _, _ in Answer() }
  ) throws {
    self.answer = answer
    let stream: Int32 = 1  // SOCK_STREAM, which the compiler does not always find among the C modules
    listener = socket(AF_INET, stream, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        precondition(bind(descriptor, raw, length) == 0, "bind")
        getsockname(descriptor, raw, &length)
      }
      return UInt16(bigEndian: pointer.pointee.sin_port)
    }
    if isUp { start() }
  }

  func start() {
    listen(listener, 64)
    _ = try? Thread.start(name: "receiver", stackBytes: 256 << 10) { [self] in accept() }
  }

  var requests: [Request] { state.withLock { $0.requests } }

  /// The URL of a path of it.
  func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func accept() {
    while true {
      let connection = Glibc.accept(listener, nil, nil)
      guard connection >= 0, !state.withLock({ $0.isClosed }) else { break }
      _ = try? Thread.start(name: "connection", stackBytes: 256 << 10) { [self] in serve(connection) }
    }
    Glibc.close(listener)
  }

  private func serve(_ connection: Int32) {
    var bytes: [UInt8] = []
    while let request = read(connection, &bytes) {
      let index = state.withLock { state in
        state.active += 1
        state.requests.append(request(state.active - 1))
        return state.requests.count - 1
      }
      let answer = answer(index, request(0))
      usleep(answer.delay * 1000)
      state.withLock { $0.active -= 1 }
      let lines =
        ["HTTP/1.1 \(answer.status) Answer", "Content-Length: \(answer.body.utf8.count)"] + answer.headers
        + ["", answer.body]
      let text = answer.raw ?? lines.joined(separator: "\r\n")
      _ = text.withCString { send(connection, $0, text.utf8.count, Int32(MSG_NOSIGNAL)) }
      if answer.raw != nil {
        usleep(answer.hangs * 1000)
        var lingering = linger(l_onoff: answer.resets ? 1 : 0, l_linger: 0)
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        break
      }
    }
    Glibc.close(connection)
  }

  /// Reads one request; nil at the end.
  private func read(_ connection: Int32, _ bytes: inout [UInt8]) -> ((Int) -> Request)? {
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let head = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) {
        let lines = String(decoding: bytes[..<head], as: UTF8.self).split(separator: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        if bytes.count >= head + 4 + length {
          let body = String(decoding: bytes[(head + 4)..<(head + 4 + length)], as: UTF8.self)
          bytes.removeFirst(head + 4 + length)
          let first = lines[0].split(separator: " ").map(String.init)
          return { Request(method: first[0], path: first[1], headers: headers, body: body, concurrent: $0) }
        }
      }
      var space = [UInt8](repeating: 0, count: 65536)
      let count = recv(connection, &space, space.count, 0)
      guard count > 0 else { return nil }
      bytes += space[..<count]
    }
  }
}
