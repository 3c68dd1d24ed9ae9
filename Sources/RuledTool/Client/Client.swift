import Glibc
import RuledCore
import RuledJSON
import RuledWire

/// A connection to a daemon's Unix socket that speaks JSON-RPC, one message a line.
///
/// Requests may be pipelined: `submit` queues one, and `receive` sends queued requests while it waits for a line, so that
/// the daemon and the client never wait for each other to read. One thread uses a connection.
final class Client {
  private let path: String
  private let descriptor: Int32
  private let outgoing = ByteBuffer(capacity: 16_384)
  private let incoming = LineBuffer()
  private let parser = TapeDocument(maximumDepth: JSONValue.replyDepth)
  private var isWritable = true
  /// Whether the daemon closed the connection, so that no further reply comes.
  private(set) var isClosed = false
  private var lastID: Int64 = 0

  init(path: String) throws(ToolError) {
    self.path = path
    descriptor = try Self.connect(to: path)
  }

  deinit { close(descriptor) }

  /// Queues a request, and returns the id that its reply will have; ids count up from 1.
  @discardableResult
  func submit(_ method: String, _ params: JSONValue) -> Int64 {
    submit(method) { $0.value(params) }
  }

  /// Queues a request whose parameters are JSON text in UTF-8 without a line break.
  @discardableResult
  func submit(_ method: String, utf8 params: [UInt8]) -> Int64 {
    submit(method) { writer in params.withView { writer.raw($0) } }
  }

  private func submit(_ method: String, writeParams: (inout JSONWriter) -> Void) -> Int64 {
    lastID += 1
    JSONRPCRequest.write(method, id: lastID, to: outgoing, writeParams)
    outgoing.append(UInt8(ascii: "\n"))
    return lastID
  }

  /// Sends a request and waits for its result.
  ///
  /// - Throws: `DaemonError` for a refusal by the daemon, `ToolError` when no reply came.
  func call(_ method: String, _ params: JSONValue) throws -> JSONValue {
    let id = submit(method, params)
    while true {
      let message: Message
      do { message = try receive() } catch let error as ToolError where isClosed {
        guard let note = LostReply.note(on: method, params) else { throw error }
        throw ToolError("\(error.message); \(note)")
      }
      guard case .reply(id, let result) = message else { continue }
      return try result.mapError { $0.answering(method) }.get()
    }
  }

  /// The same; nil if the daemon refuses it with one of these codes.
  func call(_ method: String, _ params: JSONValue, unless codes: [RequestError.Code]) throws -> JSONValue? {
    do { return try call(method, params) } catch let error as DaemonError
      where codes.contains(where: { $0.rawValue == error.code })
    {
      return nil
    }
  }

  /// The time of a daemon whose clock is set by hand; nil if it is the host's.
  func manualClock() throws -> Timestamp? {
    try call("health", [:]).member("manual_clock")?.stringValue.flatMap { Timestamp(rfc3339: $0) }
  }

  /// Waits for the next message and sends queued requests meanwhile.
  func receive() throws -> Message {
    while true {
      let line = try nextLine()
      let json: JSONValue
      do throws(JSONError.Reason) { json = JSONValue(try parser.parse(copyOf: line)) } catch {
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

  /// The next line, which stays where it is until the next call.
  private func nextLine() throws(ToolError) -> ByteView {
    while true {
      if let line = incoming.next() { return line }
      try exchange()
    }
  }

  private func exchange() throws(ToolError) {
    let hasMore = isWritable && outgoing.count > 0
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN) | (hasMore ? Int16(POLLOUT) : 0), revents: 0)
    guard Glibc.poll(&poll, 1, -1) > 0 else { return }
    // When the daemon has closed it, only writing ends: replies may still be unread.
    if hasMore, poll.revents & Int16(POLLOUT) != 0 { isWritable = outgoing.send(to: descriptor) }
    guard poll.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 else { return }
    let count = incoming.read(from: descriptor)
    if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) {
      isClosed = true
      throw ToolError("the daemon on \(path) closed the connection; 'rulectl health' shows whether it is back")
    }
  }
}

extension Client {
  /// Connects to the socket at `path` and returns the descriptor, which the caller closes.
  static func connect(to path: String) throws(ToolError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < capacity else {
      throw ToolError("the socket's path is longer than \(capacity - 1) bytes: \(path)")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw ToolError.system("cannot open a socket") }
    let failure = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        while true {
          if Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 { return Int32(0) }
          if errno != EINTR { return errno }
        }
      }
    }
    guard failure != 0 else { return descriptor }
    close(descriptor)
    throw error(failure, path)
  }

  private static func error(_ failure: Int32, _ path: String) -> ToolError {
    switch failure {
    case ENOENT, ECONNREFUSED, ENOTSOCK:
      ToolError(
        "no daemon listens on \(path); start it with 'systemctl start ruled' or 'ruled --socket \(path)', "
          + "or name another socket with --socket")
    case EACCES, EPERM:
      ToolError(
        "not allowed to open \(path); it is open to the group '\(group(of: path))': "
          + "join it with 'sudo usermod -aG \(group(of: path)) $USER' and log in again")
    default:
      ToolError("cannot connect to \(path): \(String(cString: strerror(failure)))")
    }
  }

  private static func group(of path: String) -> String {
    var status = stat()
    guard stat(path, &status) == 0, let entry = getgrgid(status.st_gid), let name = entry.pointee.gr_name else {
      return "ruled"
    }
    return String(cString: name)
  }
}

enum Message: Sendable {
  case reply(id: Int64, Result<JSONValue, DaemonError>)
  case notification(method: String, params: JSONValue)
}

/// Advice on a request without a reply, as the daemon closed the connection.
private enum LostReply {
  /// The methods besides `event` that change something.
  private static let changing: Set<String> = [
    "forget", "reload", "retry", "drop", "clock", "release", "resend", "drop_effects", "rollback", "unpin",
    "shadow_start", "shadow_stop", "cluster_drain", "cluster_undrain", "rollout_start",
    "rollout_set", "rollout_promote", "rollout_abort",
  ]

  /// A note that the request may have taken effect, with the way to send an event again; nil if it changes nothing.
  static func note(on method: String, _ params: JSONValue) -> String? {
    guard method == "event" else {
      return changing.contains(method) ? "it is not known whether '\(method)' took effect" : nil
    }
    if params.member("dryrun")?.boolValue ?? false { return nil }
    let unknown = "it is not known whether the event was applied"
    guard params.member("id") != nil else {
      return "\(unknown), and as it had no --id, sending it again may apply it twice"
    }
    let same = params.member("source") == nil ? "--id" : "--id and --source"
    return "\(unknown); send it again with the same \(same): the daemon finds the first outcome, and applies it once"
  }
}
