internal import Glibc
package import RuledCore

/// A connection to a daemon's Unix socket that speaks JSON-RPC, one message a line.
///
/// Requests may be pipelined: `submit` queues one, `receive` sends what is queued while it waits for a line, so that
/// neither side waits for the other to read. One thread uses a connection.
package final class Client {
  private let path: String
  private let descriptor: Int32
  private let outgoing = ByteBuffer(capacity: 16_384)
  private let incoming = ByteBuffer(capacity: 65_536)
  private var sent = 0
  private var start = 0
  private var searched = 0
  private var isWritable = true
  private var lastID: Int64 = 0

  /// Connects to the daemon that listens on `path`.
  package init(path: String) throws(ToolError) {
    self.path = path
    descriptor = try Self.open(path)
  }

  deinit { close(descriptor) }

  /// Queues a request.
  ///
  /// - Parameters:
  ///   - method: The method's name.
  ///   - params: Its parameters.
  /// - Returns: The number that the reply will carry; numbers count up from 1.
  @discardableResult
  package func submit(_ method: String, _ params: JSONValue) -> Int64 {
    submit(method, utf8: Array(params.text.utf8))
  }

  /// Queues a request whose parameters are JSON text already, in UTF-8 and without a line break.
  @discardableResult
  package func submit(_ method: String, utf8 params: [UInt8]) -> Int64 {
    lastID += 1
    outgoing.append("{\"jsonrpc\":\"2.0\",\"id\":" as StaticString)
    outgoing.append(decimal: lastID)
    outgoing.append(",\"method\":" as StaticString)
    outgoing.append(jsonString: method)
    outgoing.append(",\"params\":" as StaticString)
    params.withUnsafeBytes { outgoing.append($0) }
    outgoing.append("}\n" as StaticString)
    return lastID
  }

  /// Sends a request and waits for its result.
  package func call(_ method: String, _ params: JSONValue) throws -> JSONValue {
    let id = submit(method, params)
    while true {
      if case .reply(id, let result) = try receive() { return try result.get() }
    }
  }

  /// Waits for the next line, sending what is queued meanwhile.
  package func receive() throws -> Message {
    while true {
      let line = try nextLine()
      guard let json = JSONValue(text: line) else {
        throw ToolError("what listens on \(path) does not speak ruled's protocol; check --socket")
      }
      if let method = json.member("method")?.stringValue {
        return .notification(method: method, params: json.member("params") ?? .null)
      }
      let error = json.member("error").map(DaemonError.init)
      guard let id = json.member("id")?.intValue else {
        throw error ?? DaemonError(json)
      }
      return .reply(id: id, error.map(Result.failure) ?? .success(json.member("result") ?? .null))
    }
  }

  private func nextLine() throws(ToolError) -> String {
    while true {
      if let found = memchr(incoming.base + searched, 10, incoming.count - searched) {
        let end = UnsafeRawPointer(found) - UnsafeRawPointer(incoming.base)
        let line = String(decoding: incoming.bytes[start..<end], as: UTF8.self)
        start = end + 1
        searched = start
        return line
      }
      incoming.removeFirst(start)
      start = 0
      searched = incoming.count
      try exchange()
    }
  }

  private func exchange() throws(ToolError) {
    let hasMore = isWritable && sent < outgoing.count
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN) | (hasMore ? Int16(POLLOUT) : 0), revents: 0)
    guard Glibc.poll(&poll, 1, -1) > 0 else { return }
    if hasMore, poll.revents & Int16(POLLOUT) != 0 { write() }
    if poll.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { try read() }
  }

  /// Sends what the socket takes; when the other end is gone, what it said before still waits to be read.
  private func write() {
    let count = send(descriptor, outgoing.base + sent, outgoing.count - sent, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    if count > 0 {
      sent += count
      if sent == outgoing.count || sent > 1 << 20 {
        outgoing.removeFirst(sent)
        sent = 0
      }
    } else if errno != EAGAIN, errno != EINTR {
      isWritable = false
    }
  }

  private func read() throws(ToolError) {
    incoming.reserve(65_536)
    let count = recv(descriptor, incoming.base + incoming.count, 65_536, Int32(MSG_DONTWAIT))
    if count > 0 {
      incoming.advance(count)
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      throw ToolError("the daemon on \(path) closed the connection; 'rulectl health' says whether it is back")
    }
  }
}
