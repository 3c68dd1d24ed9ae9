import Glibc
import RuledCluster
import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledThreads
import RuledWire
import Synchronization

/// Answers the clients of a node that does not own the log: each request gets an error that names the owner, and `health` tells how far the node follows.
///
/// It serves on the daemon's sockets until the node owns the log, or a signal asks the daemon to end.
final class StandbyServer: ConnectionHandler {
  private let membership: ClusterMembership
  private let loop: EventLoop
  private let table: ConnectionTable
  private let parser = RequestParser()
  private let reply = ByteBuffer(capacity: 1024)
  private let ended = Mailbox<Bool>()
  private let admins: Administrators
  /// Replies that had to wait for the database.
  private let late = Mailbox<LateReply>()

  private struct LateReply: Sendable {
    let connection: UInt64
    let id: [UInt8]
    let result: Result<JSONValue, RequestError>
  }

  private init(_ membership: ClusterMembership, _ configuration: Configuration) throws(SystemError) {
    self.membership = membership
    admins = Administrators(configuration.admins)
    loop = try EventLoop()
    var limits = ConnectionLimits()
    limits.lineBytes = configuration.limits.requestBytes
    table = ConnectionTable(on: loop, limits: limits)
    table.handler = self
  }

  /// Serves on the socket `lines`, and on the sockets `web` where clients speak HTTP alone, until the node owns the log.
  ///
  /// Gives its writer, nil after a signal. The sockets stay open.
  static func run(
    _ membership: ClusterMembership, _ configuration: Configuration, lines: Int32, web: [Int32],
    notifier: SystemdNotifier
  ) throws(StartError) -> LogWriter? {
    do {
      let server = try StandbyServer(membership, configuration)
      return try server.serve(lines: lines, web: web, notifier)
    } catch {
      throw StartError("the node can't follow its cluster: \(error)")
    }
  }

  private func serve(lines: Int32, web: [Int32], _ notifier: SystemdNotifier) throws -> LogWriter? {
    let holder = Holder()
    var isEnding = false
    try ended.attach(to: loop) { [loop] _ in loop.stop() }
    try late.attach(to: loop) { [unowned self] replies in for reply in replies { send(reply) } }
    let signals = try SignalWatcher(on: loop, [.terminate, .interrupt, .hangUp]) { [loop] signal in
      guard signal != .hangUp else { return }
      isEnding = true
      loop.stop()
    }
    let (node, ended, agreement) = (membership.node, ended, membership.agreement)
    _ = try Thread(name: "ruled-rules") { agreement.follow() }
    defer { agreement.stop() }
    let follower = try Thread(name: "ruled-follow") {
      do throws(StoreError) {
        let writer = try node.awaitOwnership()
        holder.set(.success(writer))
      } catch { holder.set(.failure(error)) }
      _ = ended.send(true)
    }
    let listener = try Listener(on: loop, try ListeningSocket(copying: lines)) { [unowned self] in
      _ = try? table.adopt($0)
    }
    let webListeners = try web.map { descriptor in
      try Listener(on: loop, try ListeningSocket(copying: descriptor)) { [unowned self] in refuseHTTP($0) }
    }
    let watchdog = try notifier.watchdogMilliseconds.map { period in
      try loop.timer(after: 1, every: max(1, period / 2)) { notifier.watchdog() }
    }
    notifier.ready(status: "standby")
    loop.run()
    watchdog?.close()
    listener.stop()
    for listener in webListeners { listener.stop() }
    signals.close()
    table.close()
    ended.close()
    late.close()
    if isEnding { return nil }  // the process ends, and with it the thread
    follower.join()
    loop.close()
    return try holder.value.get()
  }

  /// Holds what the thread that follows came to.
  private final class Holder: Sendable {
    private let result = Mutex<Result<LogWriter?, StoreError>>(.success(nil))

    var value: Result<LogWriter?, StoreError> { result.withLock { $0 } }

    func set(_ value: Result<LogWriter?, StoreError>) { result.withLock { $0 = value } }
  }

  // MARK: Requests

  func receive(line: ByteView, on connection: Connection) {
    reply.removeAll()
    switch parser.parse(line, readable: line.count + LineFramer.padding) {
    case .single(.request(let request)) where Self.isForDatabase(request.method): return ask(request, connection)
    case .single(let message):
      guard answer(message) else { return }
    case .invalid(let error): ReplyWriter.error(error, id: nil, to: reply)
    case .batch(var batch):
      var replies = BatchReply()
      let part = ByteBuffer(capacity: 1024)
      while let message = batch.next() {
        let start = reply.count
        guard answer(message) else { continue }
        part.removeAll()
        part.append(reply.bytes.extracting(start...))
        reply.truncate(to: start)
        replies.begin(to: reply)
        reply.append(part)
      }
      guard !replies.isEmpty else { return }
      replies.end(to: reply)
    }
    ReplyWriter.endLine(to: reply)
    connection.send(reply.bytes)
  }

  /// Writes the answer to a message behind `reply`; false if it wants none.
  private func answer(_ message: RequestMessage) -> Bool {
    switch message {
    case .invalid(let id, let error): ReplyWriter.error(error, id: id, to: reply)
    case .request(let request):
      guard let id = request.id else { return false }
      if request.method == .health {
        ReplyWriter.beginResult(id: id, to: reply)
        health.write(to: reply)
        ReplyWriter.endResult(to: reply)
      } else {
        ReplyWriter.error(refusal, id: id, to: reply)
      }
    }
    return true
  }

  private static func isForDatabase(_ method: Method) -> Bool {
    switch method {
    case .cluster, .clusterDrain, .clusterUndrain: true
    default: false
    }
  }

  /// Leaves a request to a thread that asks the database; the reply comes through `late`.
  private func ask(_ request: RequestView, _ connection: Connection) {
    guard let id = request.id.map({ Array($0) }) else { return }
    let (token, late) = (connection.token.raw, late)
    connection.beginRequest()
    do throws(RequestError) {
      guard admins.include(connection) else {
        throw RequestError(
          .forbidden, "only root, the daemon's own user and the configured admins may call this method")
      }
      membership.answer(try ClusterParams(request)) {
        _ = late.send(LateReply(connection: token, id: id, result: $0))
      }
    } catch { send(LateReply(connection: token, id: id, result: .failure(error))) }
  }

  private func send(_ late: LateReply) {
    guard let connection = table[ConnectionToken(raw: late.connection)] else { return }
    reply.removeAll()
    late.id.withView { id in
      switch late.result {
      case .success(let value):
        ReplyWriter.beginResult(id: id, to: reply)
        value.write(to: reply)
        ReplyWriter.endResult(to: reply)
      case .failure(let error): ReplyWriter.error(error, id: id, to: reply)
      }
    }
    ReplyWriter.endLine(to: reply)
    connection.send(reply.bytes)
    connection.endRequest()
  }

  func reportSkippedLine(_ reason: LineFramer.SkipReason, on connection: Connection) {
    reply.removeAll()
    ReplyWriter.error(refusal, id: nil, to: reply)
    ReplyWriter.endLine(to: reply)
    connection.send(reply.bytes)
  }

  func receiveOtherProtocol(on descriptor: Int32) { refuseHTTP(descriptor) }

  func forget(_ connection: Connection) {}

  /// Answers whatever was asked by HTTP, and closes the connection.
  private func refuseHTTP(_ descriptor: Int32) {
    let body = ByteBuffer(capacity: 256)
    var writer = JSONWriter(body)
    writer.beginObject()
    writer.member("error")
    refusal.write(to: &writer)
    writer.endObject()
    reply.removeAll()
    reply.append(
      "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n" as StaticString)
    reply.append("connection: close\r\ncontent-length: " as StaticString)
    reply.append(decimal: Int64(body.count))
    reply.append("\r\n\r\n" as StaticString)
    reply.append(body)
    _ = SystemCalls.send(descriptor, reply.bytes)
    SystemCalls.close(descriptor)
  }

  private var refusal: RequestError {
    let (name, figures) = (membership.node.identity.name, membership.node.figures)
    guard let owner = figures.owner, owner.name != name else {
      return RequestError(
        .unavailable, "node \(name) does not own the log of commits, nor does it know who does: try again",
        details: [.init("node", .string(name)), .init("owner", .null), .init("retry_after_ms", 1000)])
    }
    return RequestError(
      .unavailable,
      "node \(name) follows the log of commits, node \(owner.name) owns it: ask that one\(Self.place(owner))",
      details: [
        .init("node", .string(name)), .init("owner", .string(owner.name)),
        .init("owner_address", .string(owner.address)),
      ])
  }

  private static func place(_ owner: NodeIdentity) -> String { owner.address.isEmpty ? "" : ", at \(owner.address)" }

  private var health: JSONValue {
    let (node, figures) = (membership.node, membership.node.figures)
    let position = node.position.sequence
    let problems = membership.problems.map(\.description)
    return .object([
      "status": .string(problems.isEmpty ? "standby" : "degraded"),
      "store": .string("postgresql"),
      "node": .string(node.identity.name),
      "owner": figures.owner.map { .string($0.name) } ?? .null,
      "owner_address": figures.owner.map { .string($0.address) } ?? .null,
      "epoch": .integer(figures.epoch),
      "sequence": .integer(position),
      "behind": .integer(max(0, figures.end - position)),
      "problems": .array(problems.map { .string($0) }),
    ])
  }
}
