// Sends one event over the Unix socket, JSON-RPC lines, and prints where the link leads. One file, Glibc only:
// swiftc -O client.swift -o client && RULED_SOCKET=/run/ruled/ruled.sock ./client
import Glibc

struct ClientError: Error {
  let message: String
}

/// Sends one line to the socket at `path` and returns the line that answers it.
func ask(_ line: String, at path: String) throws -> String {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let capacity = MemoryLayout.size(ofValue: address.sun_path) - 1
  guard path.utf8.count <= capacity else {
    throw ClientError(message: "the path \(path) is longer than \(capacity) bytes")
  }
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }

  let connection = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
  guard connection >= 0 else { throw ClientError(message: String(cString: strerror(errno))) }
  defer { close(connection) }
  var patience = timeval(tv_sec: 5, tv_usec: 0)
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  let connected = withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(connection, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  guard connected == 0 else { throw ClientError(message: "\(path): \(String(cString: strerror(errno)))") }

  var request = Array((line + "\n").utf8)[...]
  while !request.isEmpty {
    let sent = request.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard sent > 0 else { throw ClientError(message: "sending failed: \(String(cString: strerror(errno)))") }
    request = request.dropFirst(sent)
  }
  var reply: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while reply.last != UInt8(ascii: "\n") {
    let count = recv(connection, &chunk, chunk.count, 0)
    guard count > 0 else { throw ClientError(message: "the daemon did not answer") }
    reply += chunk[..<count]
  }
  return String(decoding: reply.dropLast(), as: UTF8.self)
}

/// The string that follows `marker` in a text; a real client would use a JSON decoder.
func string(after marker: String, in text: String) -> String? {
  guard let start = text.ranges(of: marker).first?.upperBound else { return nil }
  return String(text[start...].prefix { $0 != "\"" })
}

let path = getenv("RULED_SOCKET").map { String(cString: $0) } ?? "/run/ruled/ruled.sock"
let event = """
  {"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"link.opened","subject":"device:example-swift",\
  "data":{"url":"https://app.respirelyf.com/?dl_target=paywall","logged_in":true,"onboarding_seen":true}}}
  """
do {
  let reply = try ask(event, at: path)
  guard let decision = string(after: "\"destination\":\"", in: reply) else {
    throw ClientError(message: string(after: "\"message\":\"", in: reply) ?? "no decision in \(reply)")
  }
  print(decision)
} catch {
  let message = Array("client.swift: \((error as? ClientError)?.message ?? "\(error)")\n".utf8)
  write(STDERR_FILENO, message, message.count)
  exit(1)
}
