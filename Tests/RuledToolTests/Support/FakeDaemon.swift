import Glibc
import RuledCore
import RuledJSON
import Synchronization
import TestSupport

/// A daemon that answers by a script, on a real socket in a folder of its own.
final class FakeDaemon: Sendable {
  /// A request as it came over the socket.
  struct Request: Sendable {
    let json: JSONValue
    var method: String { json["method"]?.stringValue ?? "" }
    var params: JSONValue { json["params"] ?? .null }

    /// The line that answers with a result.
    func result(_ result: JSONValue) -> String {
      JSONValue.object(["jsonrpc": "2.0", "id": json["id"] ?? .null, "result": result]).text
    }

    /// The line that answers with an error.
    func error(_ error: RequestError) -> String {
      let buffer = ByteBuffer()
      var writer = JSONWriter(buffer)
      writer.beginObject()
      writer.member("jsonrpc", plain: "2.0")
      writer.member("id")
      writer.value(json["id"] ?? .null)
      writer.member("error")
      error.write(to: &writer)
      writer.endObject()
      return buffer.text
    }
  }

  /// The lines that answer a request; nil closes the connection.
  typealias Script = @Sendable (Request) -> [String]?

  let path: String
  private let folder = TemporaryFolder()
  private let listener: Int32
  private let script: Script
  private let received = Mutex<[Request]>([])

  /// A daemon that answers by `script`.
  init(_ script: @escaping Script) throws {
    self.script = script
    path = folder("ruled.sock")
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(listener, 8) == 0 else { throw RequestError(.unavailable, "cannot listen on \(path)") }
    var thread = pthread_t()
    pthread_create(&thread, nil, serve, Unmanaged.passRetained(self).toOpaque())
    pthread_detach(thread)
  }

  /// A daemon that gives every request the same result.
  convenience init(result: JSONValue) throws {
    try self.init { [$0.result(result)] }
  }

  /// A daemon that refuses every request.
  convenience init(error: RequestError) throws {
    try self.init { [$0.error(error)] }
  }

  /// What it was asked, in order.
  var requests: [Request] { received.withLock { $0 } }

  /// What the only request was.
  var request: Request? { requests.count == 1 ? requests.first : nil }

  /// Stops listening and removes the socket.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    unlink(path)
  }

  fileprivate func run() {
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { break }
      converse(connection)
      close(connection)
    }
    close(listener)
  }

  private func converse(_ connection: Int32) {
    let buffer = ByteBuffer()
    while true {
      let count = buffer.append(upTo: 65_536) { span in
        span.withUnsafeMutableBytes { memory, count in
          let received = recv(connection, memory.baseAddress, memory.count, 0)
          count = max(received, 0)
          return received
        }
      }
      guard count > 0 else { return }
      while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: buffer.bytes[..<end], as: UTF8.self)
        buffer.removeFirst(end + 1)
        guard let json = try? JSONValue(parsing: line) else { return }
        let request = Request(json: json)
        received.withLock { $0.append(request) }
        guard let answer = script(request) else { return }
        for line in answer { sendAll(Array((line + "\n").utf8), to: connection) }
      }
    }
  }
}

private func serve(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<FakeDaemon>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
