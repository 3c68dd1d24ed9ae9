package import RuledCore
import RuledIO
import RuledWire

/// Takes the lines of one worker's connections, and decides for each request which worker executes it: the one that owns its subject.
///
/// Most lines are events whose subject is found without parsing. They wait in a bundle for their worker, this one too, until the end of the tick.
/// Every other line is parsed here. It is executed at once or joins a bundle, so that the requests about a subject keep their order either way.
final class Router: ConnectionHandler {
  private unowned let worker: Worker
  private let index: Int
  private let services: Services
  private let pool: BundlePool
  private let parser = RequestParser()
  /// The requests of this tick by the worker that owns their subjects.
  private var bundles: [TextBundle?]
  /// Whether requests have come since `isExpectingRequests` was last true.
  private var hasNewRequests = false

  init(_ worker: Worker, pool: BundlePool) {
    self.worker = worker
    self.pool = pool
    index = worker.index
    services = worker.services
    bundles = Array(repeating: nil, count: services.workers.count)
  }

  /// Whether it is likely that clients send soon: requests have come since this was last true, and all of them are answered.
  func isExpectingRequests() -> Bool {
    guard hasNewRequests, services.inFlight.load(ordering: .relaxed) == 0 else { return false }
    hasNewRequests = false
    return true
  }

  // MARK: Lines

  func receiveLine(_ line: ByteView, on connection: Connection) {
    if let hash = subjectBeforeParsing(line) {
      countRequest(on: connection)
      return addToBundle(line, target(connection), subject: hash, owner: services.worker(forHash: hash))
    }
    executeOwnRequests()  // its requests came before this line
    let target = target(connection)
    guard !worker.waiting.contains(target.client) else { return worker.wait(for: line, to: target, isLine: true) }
    let isTurnOver = worker.isTurnOver
    worker.noteStart()
    switch parser.parseRequest(line, readable: line.count + LineFramer.padding) {
    case .batch where isTurnOver: worker.wait(for: line, to: target, isLine: true)
    case .single(.request(let request)):
      if isTurnOver { return worker.wait(for: line, to: target, isLine: true) }
      guard !connection.outputBroken || !Worker.isRead(request) else { return }
      countRequest(on: connection)
      route(request, text: line, target: target)
    case .single(.invalid(let id, let error)): worker.replies.sendError(error, id: id, on: connection)
    case .invalid(let error): worker.replies.sendError(error, on: connection)
    case .batch(let batch):
      do throws(RequestError) {
        let batch = try PendingRequestBatch(batch, target: target, services: services, router: self)
        countRequest(on: connection)
        worker.requestBatches.begin(batch, on: worker)
        if !batch.isForwarded { connection.pauseLines() }
      } catch { worker.replies.sendError(error, on: connection) }
    }
  }

  func reportSkippedLine(_ reason: LineFramer.SkipReason, on connection: Connection) {
    let error = reason.error(requestBytes: services.context.configuration.limits.requestBytes)
    worker.replies.sendError(error, on: connection)
  }

  func receiveOtherProtocol(on descriptor: Int32, with permit: ConnectionPermit?) {
    if let server = services.web.withLock({ $0 }) { return server.adopt(descriptor, with: permit) }
    permit?.release()
    SystemCalls.close(descriptor)
  }

  func forget(_ connection: Connection) {
    connection.permit?.release()
    worker.watches.endAll(connection: connection.token.raw)
    worker.endWaits(of: connection.token.raw)
  }

  func reportUnreadOutput(on connection: Connection) {
    services.refusals.noteUnread(connection.unsent)
  }

  func noteOutputEnd(on connection: Connection) {
    services.gone.insert(ReplyTarget.Client(receiver: .worker(index), connection: connection.token.raw))
  }

  func noteInputEnd(on connection: Connection) { worker.endWaits(of: connection.token.raw) }

  /// Counts a request that will be answered.
  private func countRequest(on connection: Connection) {
    connection.beginRequest()
    hasNewRequests = true
    services.inFlight.wrappingAdd(1, ordering: .relaxed)
  }

  /// The target of a connection's replies.
  ///
  /// The connection's tag caches whether its client is an administrator, until the configuration changes.
  private func target(_ connection: Connection) -> ReplyTarget {
    let generation = services.generation
    if connection.tag >> 1 != generation {
      connection.tag = generation << 1 | (services.isAdmin(connection) ? 1 : 0)
    }
    return ReplyTarget(
      .worker(index), connection: connection.token.raw, isAdmin: connection.tag & 1 == 1, owner: connection.owner)
  }

  /// The hash of the subject of the line's one event, or nil if only parsing can tell.
  ///
  /// While the daemon is overloaded every line is parsed, as a refusal needs the request's id.
  private func subjectBeforeParsing(_ line: ByteView) -> UInt64? {
    guard !isOverloaded(adding: 1), let subject = line.eventSubject else { return nil }
    return hash64(subject)
  }

  // MARK: Requests

  /// Leaves a request to the worker that owns its subject.
  ///
  /// Executes it at once if this worker owns the subject, or if any worker can execute it.
  /// `text` is the request's own. Returns the bytes of the reply, 0 if another worker writes it.
  @discardableResult
  func route(_ request: RequestView, text: ByteView, target: ReplyTarget) -> Int {
    if let error = refusal(of: request, target) {
      worker.replies.sendError(error, for: request, to: target)
      return 0
    }
    guard let hash = subject(of: request), case let owner = services.worker(forHash: hash), owner != index else {
      return worker.callMethod(request, target)
    }
    addToBundle(text, target, subject: hash, owner: owner)
    return 0
  }

  /// The worker that executes a request behind those that it already has; nil for a request that another thread executes, or that reads the store:
  /// such a request depends on all earlier ones.
  func owner(of request: RequestView) -> Int? {
    guard Self.isAboutSubject(request.method), request.method != .state || !PastParams.concerns(request) else {
      return nil
    }
    return subject(of: request).map { services.worker(forHash: $0) } ?? index
  }

  private static func isAboutSubject(_ method: Method) -> Bool {
    switch method {
    case .event, .query, .state, .export, .forget: true
    default: false
    }
  }

  /// The hash of the subject that a request is about, or nil when any worker can execute it.
  private func subject(of request: RequestView) -> UInt64? {
    guard Self.isAboutSubject(request.method) else { return nil }
    return request.params?.member("subject")?.string.map { hash64($0) }
  }

  private func refusal(of request: RequestView, _ target: ReplyTarget) -> RequestError? {
    let isReserved = target.isAdmin || request.method == .health
    if isOverloaded(adding: 0), let error = services.overload(isReserved: isReserved, adding: 0) { return error }
    switch request.method {
    case .unknown: return request.unknownMethod
    case .clock where !services.context.clock.isManual: return request.unknownMethod
    case .event, .query, .watch, .unwatch, .health: return nil
    case .lease, .confirm:
      guard !target.isAdmin, !isCourier(target) else { return nil }
      return RequestError(
        .forbidden, "only root, the daemon's own user and the configured admins and couriers may call this method")
    default:
      guard !target.isAdmin else { return nil }
      return Administrators.refusal
    }
  }

  /// Whether the client of one of this worker's connections may lease effects though it is no administrator.
  private func isCourier(_ target: ReplyTarget) -> Bool {
    guard case .worker(index) = target.receiver, let connection = worker.table[ConnectionToken(raw: target.connection)]
    else { return false }
    return services.isCourier(connection)
  }

  /// Whether `count` more requests exceed the number that everybody may have in flight.
  private func isOverloaded(adding count: Int) -> Bool {
    services.inFlight.load(ordering: .relaxed) + count > services.unreservedInFlight
  }

  // MARK: Bundles

  private func addToBundle(_ text: ByteView, _ target: ReplyTarget, subject: UInt64, owner: Int) {
    let bundle = bundles[owner] ?? pool.bundle()
    if bundles[owner] == nil { bundles[owner] = bundle }
    bundle.add(text, to: target, subject: subject)
  }

  /// Hands this tick's requests to the other workers that own their subjects; one that sleeps is borrowed for a lone request.
  func forwardRequests() {
    for owner in bundles.indices where owner != index {
      guard let bundle = bundles[owner] else { continue }
      bundles[owner] = nil
      let isLone = bundle.texts.count == 1 && bundles[index] == nil
      if isLone { worker.executeOrSend(bundle, to: owner) } else { services.workers[owner].send(.requests(bundle)) }
    }
  }

  /// Executes this tick's requests for this worker's own subjects.
  func executeOwnRequests() {
    guard let bundle = bundles[index] else { return }
    bundles[index] = nil
    worker.executeRequests(in: bundle)
  }
}

extension LineFramer.SkipReason {
  /// The error for the client of a skipped line, where requests have `requestBytes` at most.
  package func error(requestBytes: Int) -> RequestError {
    switch self {
    case .tooLong:
      RequestError(.tooLarge, "a request may have \(requestBytes) bytes at most; the rest of the line is skipped")
    case .outOfMemory:
      RequestError(
        .overloaded, "the lines under way take too much memory; the rest of this one is skipped, try again",
        retryAfter: 1000)
    }
  }
}
