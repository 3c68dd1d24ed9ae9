import RuledCore
import RuledEngine
import RuledJSON
import RuledWire

extension Worker: ConnectionHandler {
  func received(line: UnsafeRawBufferPointer, on connection: Connection) {
    if let hash = subjectBeforeParsing(line) {
      begin(on: connection)
      return forward(line, target(connection), subject: hash, to: services.owner(ofHash: hash))
    }
    carryOutOwn()
    switch parser.parse(line, readable: line.count + LineFramer.padding) {
    case .single(.request(let request)):
      begin(on: connection)
      route(request, text: line, target: target(connection))
    case .single(.invalid(let id, let error)): answer(error, id: id, on: connection)
    case .invalid(let error): answer(error, id: nil, on: connection)
    case .batch(let batch): begin(batch, on: connection)
    }
  }

  /// Counts a request that will be answered.
  func begin(on connection: Connection) {
    connection.beginRequest()
    tookRequests = true
    services.inFlight.wrappingAdd(1, ordering: .relaxed)
  }

  func tooLong(on connection: Connection) {
    let limit = services.context.configuration.limits.requestBytes
    answer(
      RequestError(.tooLarge, "a request may have \(limit) bytes at most; the rest of the line is skipped"), id: nil,
      on: connection)
  }

  func noRoom(on connection: Connection) {
    answer(
      RequestError(
        .overloaded, "the lines under way take too much memory; the rest of this one is skipped, try again",
        details: [.init("retry_after_ms", 1000)]), id: nil, on: connection)
  }

  func foreign(descriptor: Int32, peer: PeerCredentials?) {
    if let server = services.http.withLock({ $0 }) { return server.adopt(descriptor) }
    services.connections.wrappingSubtract(1, ordering: .relaxed)
    SystemCalls.close(descriptor)
  }

  func closed(_ connection: Connection) {
    services.connections.wrappingSubtract(1, ordering: .relaxed)
    watches.closed(connection.token.raw)
  }

  /// Where the replies to a connection go.
  func target(_ connection: Connection) -> ReplyTarget {
    let generation = services.generation
    if connection.tag >> 1 != generation {
      connection.tag = generation << 1 | (services.admins.include(connection) ? 1 : 0)
    }
    return ReplyTarget(worker: index, connection: connection.token.raw, isAdmin: connection.tag & 1 == 1)
  }

  /// Answers what is no request that could be carried out.
  func answer(_ error: RequestError, id: UnsafeRawBufferPointer?, on connection: Connection) {
    replyBuffer.removeAll()
    ReplyWriter.error(error, id: id, to: replyBuffer)
    ReplyWriter.endLine(to: replyBuffer)
    connection.send(replyBuffer.bytes)
  }

  // MARK: Routing

  /// The hash of the subject that the line's one event is about, nil where only parsing can tell.
  ///
  /// Its worker then parses the line, and answers it if there is something wrong with it; what is to be refused as too much is parsed
  /// here. Told or parsed, an event goes the same way, so that those of a subject keep their order. A worker puts off its own, too, so as to
  /// look ahead.
  private func subjectBeforeParsing(_ line: UnsafeRawBufferPointer) -> UInt64? {
    guard !isOverloaded(with: 1), let subject = line.eventSubject else { return nil }
    return hash64(subject, seed: 0)
  }

  /// The worker that a request must be carried out by: its subject's owner.
  func owner(of request: RequestView) -> Int { subject(of: request).map { services.owner(ofHash: $0) } ?? index }

  /// The hash of the subject that a request is about, nil when any worker can carry it out.
  private func subject(of request: RequestView) -> UInt64? {
    switch request.method {
    case .event, .query, .state, .export, .forget: request.params?.member("subject")?.string.map { hash64($0, seed: 0) }
    default: nil
    }
  }

  /// Carries a request out here or leaves it to the worker whose subject it is about.
  func route(_ request: RequestView, text: UnsafeRawBufferPointer, target: ReplyTarget) {
    if let error = refusal(request, target) { return reply(with: error, to: request, target) }
    guard let subject = subject(of: request) else { return execute(request, target) }
    let owner = services.owner(ofHash: subject)
    if owner == index { execute(request, target) } else { forward(text, target, subject: subject, to: owner) }
  }

  /// Whether more would be in flight than may be.
  private func isOverloaded(with more: Int) -> Bool {
    services.inFlight.load(ordering: .relaxed) + more > services.context.configuration.limits.inFlight
  }

  private func refusal(_ request: RequestView, _ target: ReplyTarget) -> RequestError? {
    if isOverloaded(with: 0) {
      return RequestError(
        .overloaded, "too many requests are in flight; try again", details: [.init("retry_after_ms", 100)])
    }
    switch request.method {
    case .unknown: return request.unknownMethod
    case .clock where !services.context.clock.isManual: return request.unknownMethod
    case .event, .query, .watch, .unwatch, .health: return nil
    default:
      guard !target.isAdmin else { return nil }
      return RequestError(.forbidden, "only root, the daemon's own user and the configured admins may call this method")
    }
  }

  /// Carries out what is not from a connection.
  func carryOut(_ forwarded: ForwardedRequest) {
    forwarded.text.withUnsafeBytes { carryOut($0, readable: $0.count, forwarded.target) }
  }

  /// Carries out what a worker read, another one or this.
  func carryOut(_ bundle: RequestBundle) {
    let entries = bundle.entries
    for (place, entry) in entries.enumerated() {
      evaluator.prefetch(from: place, in: entries.count) { entries[$0].subject }
      let text = bundle.text(of: entry)
      carryOut(text, readable: text.count + LineFramer.padding, entry.target)
    }
    spare.giveBack(bundle)
  }

  private func carryOut(_ text: UnsafeRawBufferPointer, readable: Int, _ target: ReplyTarget) {
    document = forwardedParser.document.handle
    defer { document = parser.document.handle }
    switch forwardedParser.parse(text, readable: readable) {
    case .single(.request(let request)): execute(request, target)
    case .single(.invalid(let id, let error)): refuse(target, error, id: id)
    case .invalid(let error): refuse(target, error, id: nil)
    case .batch: refuse(target, RequestError(.invalidRequest, "A request is an object."), id: nil)
    }
  }

  /// Answers what turned out to be no request.
  private func refuse(_ target: ReplyTarget, _ error: RequestError, id: UnsafeRawBufferPointer?) {
    replyBuffer.removeAll()
    ReplyWriter.error(error, id: id, to: replyBuffer)
    if target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
    send(replyBuffer.bytes, to: target)
  }

  private func reply(with error: RequestError, to request: RequestView, _ target: ReplyTarget) {
    replyBuffer.removeAll()
    if !request.isNotification {
      ReplyWriter.error(error, id: request.id, to: replyBuffer)
      if target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
    }
    send(replyBuffer.bytes, to: target)
  }

  // MARK: Carrying out

  private func execute(_ request: RequestView, _ target: ReplyTarget) {
    if Self.isForControl(request.method) { return hand(toControl: request, target) }
    if request.method == .watch || request.method == .unwatch { return watch(request, target) }
    let bytes = submission.replyBytes
    let idStart = bytes.count
    if let id = request.id { bytes.append(id) }
    let start = bytes.count
    var cascade: (cascade: Cascade, key: UInt64)?
    do throws(RequestError) {
      ReplyWriter.beginResult(id: request.id, to: bytes)
      cascade = try perform(request, into: bytes)
      ReplyWriter.endResult(to: bytes)
    } catch {
      bytes.truncate(to: start)
      if !request.isNotification { ReplyWriter.error(error, id: request.id, to: bytes) }
    }
    if request.isNotification {
      bytes.truncate(to: start)
    } else if target.batch == 0 {
      ReplyWriter.endLine(to: bytes)
    }
    guard evaluator.isQuiet || Self.tellsOfDaemon(request.method), cascade == nil else {
      submission.append(
        PendingReply(target: target, range: start..<bytes.count, id: idStart..<start, cascade: cascade))
      return
    }
    send(UnsafeRawBufferPointer(rebasing: bytes.bytes[start...]), to: target)
    bytes.truncate(to: idStart)
  }

  /// Whether the reply tells nothing of what is yet to be committed, so that it leaves even while the store fails.
  private static func tellsOfDaemon(_ method: Method) -> Bool { method == .health || method == .rules }

  /// Writes the result; answers the cascade that the reply has to wait for.
  private func perform(
    _ request: RequestView, into bytes: ByteBuffer
  ) throws(RequestError) -> (cascade: Cascade, key: UInt64)? {
    switch request.method {
    case .event: return try event(EventView(request), request, into: bytes)
    case .query: try query(QueryParams(request), into: bytes)
    default: try administrate(request, into: bytes)
    }
    return nil
  }

  private func event(
    _ view: EventView, _ request: RequestView, into bytes: ByteBuffer
  ) throws(RequestError) -> (cascade: Cascade, key: UInt64)? {
    services.figures[index].events.wrappingAdd(1, ordering: .relaxed)
    let now = services.context.clock.now.microseconds
    var id = view.id
    if id == nil {
      madeID.removeAll()
      UUIDText.random(.random(in: 0...UInt64.max), .random(in: 0...UInt64.max)).write(to: madeID)
      id = madeID.bytes
    }
    var input = EventInput(
      type: view.type, subject: view.subject, source: view.source, id: id ?? madeID.bytes,
      time: view.time?.microseconds ?? now, document: document, data: view.data?.index ?? 0,
      attributes: view.hasExtensions ? view.objectIndex : 0, text: view.text, now: now)
    input.isDryRun = view.isDryRun
    input.isExplained = view.isExplained
    guard view.waitsForCascade, !request.isNotification else {
      try evaluator.handle(input, into: bytes)
      return nil
    }
    let key = nextKey
    nextKey += 1
    let mailbox = services.workers[index]
    let cascade = Cascade { isWhole in _ = mailbox.send(.cascadeOver(key, isWhole: isWhole)) }
    try evaluator.handle(input, cascade: cascade, into: bytes)
    return (cascade, key)
  }

  private func query(_ params: QueryParams, into bytes: ByteBuffer) throws(RequestError) {
    let name = String(decoding: params.plugin, as: UTF8.self) + "." + String(decoding: params.query, as: UTF8.self)
    try evaluator.query(
      name, subject: params.subject, document: document, arguments: params.args?.index ?? 0,
      into: bytes)
  }
}
