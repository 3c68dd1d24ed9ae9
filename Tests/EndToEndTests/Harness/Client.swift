import Glibc
import RuledCore
import RuledJSON
import TestSupport

/// A blocking client for JSON-RPC lines, with a timeout of 180 s on each read.
final class Client: @unchecked Sendable {  // each client is used by one thread at a time
  let descriptor: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  private var nextID = 0

  /// Why a call had no result.
  struct Gone: Error, CustomStringConvertible {
    let description: String
  }

  /// A client of the socket at `path`.
  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard connected == 0 else { throw Gone(description: "connect \(path): \(errno)") }
    var limit = timeval(tv_sec: 180, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Shuts down the sending side.
  func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Sends all of it; returns false if the connection is closed.
  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends all of it; returns false if the connection is closed.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool { sendAll(bytes, to: descriptor) }

  /// Sends as much as possible without waiting; returns the number of bytes.
  func sendAvailable(_ bytes: [UInt8]) -> Int {
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    return max(0, bytes.withView { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) })
  }

  /// The next line without its newline; nil at the end of the stream.
  func line() -> String? {
    while true {
      if let end = endOfLine() {
        defer { start = end + 1 }
        return buffer.withView { String(decoding: $0[start..<end], as: UTF8.self) }
      }
      buffer.removeSubrange(..<start)
      start = 0
      var part = [UInt8](repeating: 0, count: 65536)
      let count = recv(descriptor, &part, part.count, 0)
      guard count > 0 else { return nil }
      buffer += part[..<count]
    }
  }

  private func endOfLine() -> Int? {
    buffer.withView { bytes in
      guard let base = bytes.baseAddress, start < bytes.count else { return nil }
      return memchr(base + start, 10, bytes.count - start).map { UnsafeRawPointer($0) - base }
    }
  }

  /// The number of lines that have come and were not read, without waiting; to be called once.
  func countLines() -> Int {
    var part = [UInt8](repeating: 0, count: 1 << 20)
    while case let count = recv(descriptor, &part, part.count, Int32(MSG_DONTWAIT)), count > 0 {
      buffer += part[..<count]
    }
    return buffer[start...].count { $0 == 10 }
  }

  /// All lines up to the end of the stream.
  func remainingLines() -> [String] {
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    return lines
  }

  /// The reply to one line.
  func exchange(_ text: String) -> String? {
    send(text + "\n")
    return line()
  }

  /// The whole reply to a request.
  func reply(_ method: String, _ params: JSONValue = [:]) throws -> JSONValue {
    nextID += 1
    let request: JSONValue = [
      "jsonrpc": "2.0", "id": .integer(Int64(nextID)), "method": .string(method), "params": params,
    ]
    // A node of a cluster that follows tells of itself, unless the request is in a batch.
    let isForOwner = method == "health" && RuledDaemon.isCluster
    let text = isForOwner ? "[\(request.text)]" : request.text
    guard send(text + "\n"), let line = line() else { throw Gone(description: "\(method): the daemon is gone") }
    let reply = try JSONValue(parsing: line, maximumDepth: 128)
    return isForOwner ? reply[0] ?? .null : reply
  }

  var isServed: Bool { (try? reply("health"))?["result"] != nil }

  /// The result of a request.
  func call(_ method: String, _ params: JSONValue = [:]) throws -> JSONValue {
    let reply = try reply(method, params)
    guard let result = reply["result"] else { throw Gone(description: "\(method) \(params.text): \(reply.text)") }
    return result
  }

  /// The error of a request; null if it succeeds.
  func failure(_ method: String, _ params: JSONValue = [:]) throws -> JSONValue {
    try reply(method, params)["error"] ?? .null
  }

  /// The outcome of an event.
  @discardableResult
  func event(_ type: String, _ subject: String, _ data: JSONValue = [:], with more: JSONObject = [:]) throws
    -> JSONValue
  {
    var params: JSONObject = ["type": .string(type), "subject": .string(subject), "data": data]
    for member in more { params[member.name] = member.value }
    return try call("event", .object(params))
  }
}
