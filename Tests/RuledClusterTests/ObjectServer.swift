import Glibc
import RuledThreads
import Synchronization
import TestSupport

/// A server of the protocol of S3 with one bucket in memory; it does not check signatures, which the tests from outside do.
final class ObjectServer: Sendable {
  /// What the server does with a request instead of what it asks for.
  enum Fault: Sendable {
    /// Answers with this status and the code of an error.
    case status(Int, code: String = "")
    /// Changes one bit of the object.
    case damage
    /// Closes the connection in the middle of the object.
    case cut
    /// Answers with a head that libcurl has no room for, in so many lines.
    case largeHead(lines: Int)
  }

  /// A request as the server sees it.
  struct Request: Sendable {
    let method: String
    let name: String
    let query: String
    let head: String
    let body: [UInt8]
  }

  let port: UInt16
  private let listener: Int32
  private let objects = Mutex<[String: [UInt8]]>([:])
  private let seen = Mutex<[Request]>([])
  private let fault = Mutex<@Sendable (Request) -> Fault?>({ _ in nil })
  /// How many names a list has at most.
  private let pageSize = 3

  /// A server on a loopback port of its own.
  init() throws {
    let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(made, $0, size)
        listen(made, 64)
        getsockname(made, $0, &size)
      }
    }
    listener = made
    port = UInt16(bigEndian: address.sin_port)
    _ = try Thread(name: "objects") { [weak self] in
      while true {
        let client = accept(made, nil, nil)
        guard client >= 0, let self else { return }
        _ = try? Thread(name: "object") { self.serve(client) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  var names: [String] { objects.withLock { $0.keys.sorted() } }

  var requests: [Request] { seen.withLock { $0 } }

  func fail(_ choose: @escaping @Sendable (Request) -> Fault?) { fault.withLock { $0 = choose } }

  func put(_ bytes: [UInt8]?, as name: String) { objects.withLock { $0[name] = bytes } }

  func bytes(of name: String) -> [UInt8]? { objects.withLock { $0[name] } }

  // MARK: Serving

  private func serve(_ client: Int32) {
    defer { close(client) }
    var pending: [UInt8] = []
    while let request = Self.read(from: client, &pending) {
      seen.withLock { $0.append(request) }
      let fault = fault.withLock { $0 }(request)
      var (status, body) = answer(request)
      switch fault {
      case nil: break
      case .status(let number, let code):
        (status, body) = (number, Array("<Error><Code>\(code)</Code><Message>as told</Message></Error>".utf8))
      case .damage: if !body.isEmpty { body[body.count / 2] ^= 1 }
      case .cut, .largeHead: break
      }
      var head = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.count)\r\n"
      if case .largeHead(let lines) = fault {
        head += String(repeating: "X: \(String(repeating: "x", count: (2 << 20) / lines))\r\n", count: lines)
      }
      sendAll(Array((head + "\r\n").utf8), to: client)
      if case .cut = fault {
        sendAll(Array(body.prefix(body.count / 2)), to: client)
        return
      }
      sendAll(body, to: client)
    }
  }

  private func answer(_ request: Request) -> (status: Int, body: [UInt8]) {
    switch request.method {
    case "PUT":
      put(request.body, as: request.name)
      return (200, [])
    case "DELETE":
      put(nil, as: request.name)
      return (204, [])
    default:
      if request.name.isEmpty { return (200, Array(list(request.query).utf8)) }
      return bytes(of: request.name).map { (200, $0) } ?? (404, Array("<Error><Code>NoSuchKey</Code></Error>".utf8))
    }
  }

  private func list(_ query: String) -> String {
    let pairs = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
    let value = { (name: String) in
      pairs.first { $0.first == name[...] && $0.count == 2 }.map { Self.decoded($0[1]) } ?? ""
    }
    // The token has characters that a query must escape, and XML too.
    let after = String(value("continuation-token").dropFirst("after/+&=".count))
    let found = names.filter { $0.hasPrefix(value("prefix")) && $0 > after }
    let keys = found.prefix(pageSize).map { "<Contents><Key>\($0)</Key></Contents>" }.joined()
    guard found.count > pageSize else {
      return "<ListBucketResult><IsTruncated>false</IsTruncated>\(keys)</ListBucketResult>"
    }
    let next = "after/+&amp;=\(found[pageSize - 1])"
    return "<ListBucketResult><IsTruncated>true</IsTruncated>\(keys)"
      + "<NextContinuationToken>\(next)</NextContinuationToken></ListBucketResult>"
  }

  private static func decoded(_ text: Substring) -> String {
    let parts = text.split(separator: "%", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(parts[0])) {
      $0 += String(UnicodeScalar(UInt8($1.prefix(2), radix: 16) ?? 0)) + $1.dropFirst(2)
    }
  }

  private static func read(from client: Int32, _ pending: inout [UInt8]) -> Request? {
    var room = [UInt8](repeating: 0, count: 1 << 16)
    func more() -> Bool {
      let count = Glibc.read(client, &room, room.count)
      if count > 0 { pending += room[..<count] }
      return count > 0
    }
    var end = 0
    while true {
      if let found = pending.firstRange(of: Array("\r\n\r\n".utf8)) {
        end = found.upperBound
        break
      }
      guard more() else { return nil }
    }
    let head = String(decoding: pending[..<end], as: UTF8.self)
    let length = header("content-length", of: head).flatMap { Int($0) } ?? 0
    if header("expect", of: head) != nil { sendAll(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), to: client) }
    while pending.count < end + length { guard more() else { return nil } }
    let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
    let target = words[1].split(separator: "?", maxSplits: 1)
    let body = Array(pending[end..<(end + length)])
    pending.removeFirst(end + length)
    let name = target[0].split(separator: "/", maxSplits: 1).dropFirst().first ?? ""
    return Request(
      method: String(words[0]), name: String(name), query: target.count > 1 ? String(target[1]) : "", head: head,
      body: body)
  }

  /// The value of a header field.
  static func header(_ name: String, of head: String) -> String? {
    for line in head.split(separator: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased() == name { return String(parts[1].drop { $0 == " " }) }
    }
    return nil
  }
}
