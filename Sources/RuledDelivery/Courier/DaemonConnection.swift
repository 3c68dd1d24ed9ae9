import Glibc
import RuledCore
import RuledIO
import RuledJSON
import RuledWire

/// A client's connection to the daemon's Unix socket on an event loop; it is made again when it is lost.
final class DaemonConnection: ConnectionHandler {
  private static let replyBytes = 64 << 20
  let path: String
  /// Called when a connection has been made; requests of earlier ones are forgotten.
  var onConnect: () -> Void = {}

  private let loop: EventLoop
  private let log: any EventLog
  private let table: ConnectionTable
  private var retry: LoopTimer?
  private let backoff = Backoff(first: 200, longest: 10_000)
  private var failures = 0
  private var connection: Connection?
  private var pending: [Int64: (Result<JSONValue, CallError>) -> Void] = [:]
  private var lastID: Int64 = 0
  private let document = TapeDocument(maximumDepth: 2 * Limits.jsonDepth)
  private let buffer = ByteBuffer(capacity: 4096)

  struct CallError: Error, CustomStringConvertible {
    let description: String
  }

  init(to path: String, on loop: EventLoop, log: any EventLog) throws(SystemError) {
    self.path = path
    self.loop = loop
    self.log = log
    var limits = ConnectionLimits()
    limits.lineBytes = Self.replyBytes
    limits.lineMemory = MemoryBudget(2 * Self.replyBytes)
    table = ConnectionTable(on: loop, limits: limits)
    table.handler = self
    retry = try LoopTimer(on: loop) { [unowned self] in connect() }
  }

  /// Connects, or tries again after a while.
  func connect() {
    do throws(SystemError) {
      guard let address = UnixAddress(path) else { throw SystemError(ENAMETOOLONG, call: "connect", context: path) }
      let socket = try SystemCalls.streamSocket(AF_UNIX, path)
      try SystemCalls.check("connect", path) { address.withSockaddr { Glibc.connect(socket.number, $0, $1) } }
      connection = try table.adopt(socket.release())
    } catch {
      failures += 1
      if failures == 1 { log.warn("the daemon can't be reached, that is tried again: \(error)") }
      retry?.start(after: backoff.delay(after: failures))
      return
    }
    if failures > 0 { log.info("the daemon is reached again") }
    failures = 0
    onConnect()
  }

  /// Sends a request; false while there is no connection.
  ///
  /// `completion` is not called if the connection is lost.
  func call(_ method: Method, _ params: JSONValue, completion: @escaping (Result<JSONValue, CallError>) -> Void) -> Bool
  {
    guard let connection, connection.isOpen else { return false }
    lastID += 1
    pending[lastID] = completion
    buffer.removeAll()
    JSONRPCRequest.write(method.rawValue, id: lastID, to: buffer) { $0.value(params) }
    buffer.append(UInt8(ascii: "\n"))
    connection.addOutput(buffer.bytes)
    return true
  }

  func close() {
    retry?.close()
    retry = nil
    pending = [:]
    table.close()
  }

  func receiveLine(_ line: ByteView, on connection: Connection) {
    guard let reply = (try? document.parse(copyOf: line)).map({ JSONValue($0) }), let id = reply["id"]?.intValue else {
      log.error("what listens on \(path) does not speak ruled's protocol; check --socket")
      return connection.close()
    }
    guard let completion = pending.removeValue(forKey: id) else { return }
    if let error = reply["error"] {
      completion(.failure(CallError(description: error["message"]?.stringValue ?? error.text)))
    } else {
      completion(.success(reply["result"] ?? .null))
    }
  }

  func reportSkippedLine(_ reason: LineFramer.SkipReason, on connection: Connection) {
    log.error("a reply of the daemon was too long; the connection is made again")
    connection.close()
  }

  func receiveOtherProtocol(on descriptor: Int32, with permit: ConnectionPermit?) {
    log.error("what listens on \(path) does not speak ruled's protocol; check --socket")
    SystemCalls.close(descriptor)
    reconnect()
  }

  func reportUnreadOutput(on connection: Connection) {}

  func forget(_ connection: Connection) { reconnect() }

  private func reconnect() {
    connection = nil
    pending = [:]
    failures += 1
    log.warn("the connection to the daemon is lost and made again")
    retry?.start(after: backoff.delay(after: failures))
  }
}
