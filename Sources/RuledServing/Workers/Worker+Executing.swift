import RuledCore
import RuledEngine
import RuledIO
import RuledWire

/// Executing requests: from their text to the reply, which joins the commit batch.
extension Worker {
  /// Executes requests that this worker's router or another's has forwarded, in their order.
  ///
  /// Once the tick's time for requests is over, the rest waits. While a client's requests wait, all that come wait behind them.
  func executeRequests(in bundle: TextBundle) {
    let requests = bundle.texts
    var executed = 0
    var large = LargeReplies()
    if waiting.isEmpty, !isTurnOver {
      noteStart()
      executed = executeSome(requests[...], in: bundle, until: turnEnd, &large)
    }
    for request in requests[executed...] {
      wait(for: bundle.bytes(of: request), to: request.target, subject: request.subject, after: large)
    }
    pool.putBack(bundle)
  }

  /// Executes requests of a bundle until the time `end`, one at least; returns the index of the first one that is left.
  ///
  /// `dropsReads` leaves out those whose replies nobody reads any more.
  private func executeSome(
    _ requests: ArraySlice<TextBundle.Text>, in bundle: TextBundle, until end: UInt64, _ large: inout LargeReplies,
    dropsReads: Bool = false
  ) -> Int {
    for index in requests.indices {
      evaluator.prefetchSubjects(after: index, of: requests.endIndex) { requests[$0].subject }
      let request = requests[index]
      let text = bundle.bytes(of: request)
      if dropsReads, isRead(text, request.target) {
        replies.sendNothing(to: request.target)
        continue
      }
      if large.areTooMany(for: request.target) {
        refuseRequest(text, request.target)
      } else {
        large.note(executeRequest(text, readable: text.count + LineFramer.padding, request.target), request.target)
      }
      submitIfFull()
      if EngineClock.coarse >= end { return index + 1 }
    }
    return requests.endIndex
  }

  // MARK: Turns

  /// Whether this tick has no time left for requests.
  var isTurnOver: Bool { turnEnd > 0 && EngineClock.coarse >= turnEnd }

  /// Lets a request, or a line that the router has not read, wait for its client's next turn.
  ///
  /// The client's connection delivers no line until then.
  func wait(
    for text: ByteView, to target: ReplyTarget, subject: UInt64 = 0, isLine: Bool = false,
    after large: LargeReplies = LargeReplies()
  ) {
    if waiting.isEmpty { loop.onNextTick {} }
    guard waiting.add(text, to: target, subject: subject, isLine: isLine, after: large) else { return }
    connection(of: target.client)?.pauseLines()
  }

  /// Gives a turn to each client whose requests wait, for as long as the tick has time.
  func executeWaitingRequests() {
    guard !waiting.isEmpty else { return }
    noteStart()
    turnEnd = begun + RequestTurn.waitingNanoseconds
    repeat {
      guard let queue = waiting.removeNext() else { break }
      let bundle = queue.bundle
      connection(of: queue.client)?.noticeHangUp()
      if queue.executed < queue.count {
        let end = min(turnEnd, EngineClock.coarse + RequestTurn.nanoseconds)
        queue.executed = executeSome(
          bundle.texts[queue.executed..<queue.count], in: bundle, until: end, &queue.largeReplies,
          dropsReads: isGone(queue.client))
      }
      if queue.executed < queue.count {
        waiting.putBack(queue)
      } else if let connection = connection(of: queue.client) {
        connection.resumeLines()
        // The line may pause the connection again: as a batch, or as there is no time left.
        if queue.endsWithLine, let line = bundle.texts.last {
          router.receiveLine(bundle.bytes(of: line), on: connection)
        }
      }
    } while !isTurnOver
    if !waiting.isEmpty { loop.onNextTick {} }
  }

  /// The connection of a client, if it is one of this worker's.
  private func connection(of client: ReplyTarget.Client) -> Connection? {
    client.receiver == .worker(index) ? table[ConnectionToken(raw: client.connection)] : nil
  }

  /// Whether nobody reads the replies to a client any more.
  private func isGone(_ client: ReplyTarget.Client) -> Bool {
    switch client.receiver {
    case .worker(index): connection(of: client)?.outputBroken ?? true
    case .worker: services.gone.contains(client)
    case .http: services.web.withLock { $0 }?.isAwaited(client.connection) != true
    }
  }

  private func isRead(_ text: ByteView, _ target: ReplyTarget) -> Bool {
    guard case .single(.request(let request)) = parser(for: target).parseRequest(text) else { return false }
    return Self.isRead(request)
  }

  /// Whether a request commits nothing, so that it is in vain once its client has gone.
  static func isRead(_ request: RequestView) -> Bool {
    switch request.method {
    case .health, .rules: true
    case .event: request.params?.member("dryrun")?.isKind(.true) == true
    default: showsState(request.method)
    }
  }

  /// Refuses a request whose client gets too many replies at once.
  func refuseRequest(_ text: ByteView, _ target: ReplyTarget) {
    let error = RequestTurn.tooManyReplies
    services.refusals.note(.replies) { "requests are refused: \(error.message)" }
    guard case .single(.request(let request)) = parser(for: target).parseRequest(text) else {
      return replies.sendNothing(to: target)
    }
    replies.sendError(error, for: request, to: target)
  }

  /// Notes the time at which the next requests begin: once for all requests executed together.
  func noteStart() {
    begun = EngineClock.monotonic
    if turnEnd == 0 { turnEnd = begun + RequestTurn.tickNanoseconds }
  }

  /// Parses a request, of which `readable` bytes may be read, and calls its method; returns the bytes of the reply.
  @discardableResult
  func executeRequest(_ text: ByteView, readable: Int, _ target: ReplyTarget) -> Int {
    switch parser(for: target).parseRequest(text, readable: readable) {
    case .single(.request(let request)): return callMethod(request, target)
    case .single(.invalid(let id, let error)): replies.sendError(error, id: id, to: target)
    case .invalid(let error): replies.sendError(error, id: nil, to: target)
    case .batch: replies.sendError(RequestError(.invalidRequest, "A request is an object."), id: nil, to: target)
    }
    return 0
  }

  /// Executes or forwards a request of a batch; returns the bytes of the reply, 0 if another worker writes it.
  func routeElement(_ text: [UInt8], _ target: ReplyTarget) -> Int {
    text.withView { text in
      guard case .single(.request(let request)) = parser.parseRequest(text) else { return 0 }
      if Self.isRead(request), isGone(target.client) {
        replies.sendNothing(to: target)
        return 0
      }
      return router.route(request, text: text, target: target)
    }
  }

  /// Calls a request's method and replies: with the next commit, or at once if there is nothing to commit.
  ///
  /// Returns the bytes of the reply; 0 if another thread writes it.
  @discardableResult
  func callMethod(_ request: RequestView, _ target: ReplyTarget) -> Int {
    if delegate(request, to: target) { return 0 }
    switch request.method {
    case .watch, .unwatch:
      callWatch(request, target)
      return 0
    default: break
    }
    let bytes = submission.replyBytes
    let idStart = bytes.count
    if let id = request.id { bytes.append(id) }
    let start = bytes.count
    var cascade: (cascade: Cascade, key: UInt64)?
    var mayShowCommits = !Self.isIndependentOfCommits(request.method)
    do throws(RequestError) {
      ReplyWriter.beginResult(id: request.id, to: bytes)
      switch request.method {
      case .event:
        cascade = try evaluateEvent(request, for: target, into: bytes)
        // One that commits nothing is a repeat or a dry run: it shows committed values.
        if evaluator.isQuiet { try services.checkRead() }
      case .query: try query(QueryParams(request), into: bytes)
      default: try administrate(request, target, into: bytes)
      }
      if Self.showsState(request.method) { try services.checkRead() }
      ReplyWriter.endResult(to: bytes)
    } catch {
      bytes.truncate(to: start)
      if Self.showsState(request.method), error.code == .unavailable { mayShowCommits = false }
      services.figures[index].noteRefusal(error.code)
      if !request.isNotification { ReplyWriter.error(error, id: request.id, to: bytes) }
    }
    if request.isNotification {
      bytes.truncate(to: start)
    } else if target.batch == 0 {
      ReplyWriter.endLine(to: bytes)
    }
    let count = bytes.count - start
    guard evaluator.isQuiet || !mayShowCommits, cascade == nil else {
      submission.addReply(
        PendingReply(
          target: target, range: start..<bytes.count, id: idStart..<start, cascade: cascade,
          isRead: Self.showsState(request.method)))
      return count
    }
    replies.dispatch(bytes.bytes.extracting(start...), to: target)
    bytes.truncate(to: idStart)
    return count
  }

  /// Whether a method's reply leaves before the commits in flight, even while the store fails, as it shows none of their writes.
  private static func isIndependentOfCommits(_ method: Method) -> Bool {
    switch method {
    case .health, .rules: true
    default: false
    }
  }

  /// Whether a method shows committed values, and commits nothing, which would fail once another node owns the log.
  static func showsState(_ method: Method) -> Bool {
    switch method {
    case .query, .state, .export, .subjects, .parked, .counters, .topics, .log, .explainPast, .journal, .effects,
      .effect, .revisions, .revision, .rolloutStatus:
      true
    default: false
    }
  }

  /// Evaluates the event of a request.
  ///
  /// Returns the cascade that the reply waits for, if the client wants it to.
  private func evaluateEvent(
    _ request: RequestView, for target: ReplyTarget, into bytes: ByteBuffer
  ) throws(RequestError) -> (cascade: Cascade, key: UInt64)? {
    let view = try EventView(request)
    if view.isInternal { try checkInternal(view, target) }
    executed.events += 1
    submission.addEvent(begunAt: begun)
    let now = services.context.clock.now.microseconds
    var id = view.id
    if id == nil {
      generatedID.removeAll()
      UUIDText.random().write(to: generatedID)
      id = generatedID.bytes
    }
    var input = EventInput(
      type: view.type, subject: view.subject, source: view.source, id: id ?? generatedID.bytes,
      time: view.time?.microseconds ?? now, data: view.data, attributes: view.hasExtensions ? view.object : nil,
      text: view.text, now: now)
    input.lacksID = view.id == nil
    input.isDryRun = view.isDryRun
    input.isExplained = view.isExplained
    input.isInternal = view.isInternal
    // `state` gives the same values.
    input.explainsValues = view.explainsValues && target.mayReadStates
    input.explainsTexts = target.mayReadStates
    guard view.waitsForCascade, !request.isNotification else {
      try evaluator.evaluate(input, into: bytes)
      return nil
    }
    lastCascade += 1
    let key = lastCascade
    let mailbox = services.workers[index]
    let cascade = Cascade { isWhole in _ = mailbox.send(.cascadeEnded(key, isWhole: isWhole)) }
    try evaluator.evaluate(input, cascade: cascade, into: bytes)
    return (cascade, key)
  }

  /// Refuses `internal` of who is no administrator, and notes an administrator's in the log.
  private func checkInternal(_ event: EventView, _ target: ReplyTarget) throws(RequestError) {
    guard target.isAdmin else {
      throw RequestError(
        .forbidden, "only an administrator may send an event with internal: true",
        details: ["detail": "made by rules only"])
    }
    guard !event.isDryRun else { return }
    services.log.write(
      LogLine(
        .info, "an administrator sent '\(String(decoding: event.type, as: UTF8.self))' with internal: true",
        event: event.id.map { String(decoding: $0, as: UTF8.self) },
        subjectHash: LogLine.hash(of: event.subject)))
  }

  private func query(_ params: QueryParams, into bytes: ByteBuffer) throws(RequestError) {
    executed.queries += 1
    let name = String(decoding: params.plugin, as: UTF8.self) + "." + String(decoding: params.query, as: UTF8.self)
    let deciding = evaluator.deciding(for: params.subject.map(Array.init))
    try deciding.query(name, subject: params.subject, arguments: params.args, into: bytes)
  }

  // MARK: Work for its subjects that other threads ask for

  /// Fires a timer; ends `cascade` when that is durable.
  func fire(_ timer: DueTimer, _ cascade: Cascade) {
    do throws(RequestError) { try evaluator.fire(timer, cascade: cascade) } catch {
      _ = services.control.send(.retryTimer(timer, after: error))
    }
    evaluator.batch.awaited.append(cascade)
  }

  /// Tries each parked event whose plugin has changed since again, once, as soon as all of them are stored: events under way have to be durable.
  func retryParked() {
    let (services, index, before, deferral) = (services, index, services.context.nextSequence(), inbox.deferral)
    evaluator.batch.awaited.append(
      Cascade {
        _ = services.workers[index].send(.retryStored(before: before, deferral: deferral))
      })
  }
}

/// The bytes of large replies to the requests of one bundle, by client: one read may bring thousands of requests, each with a reply of 1 MiB.
struct LargeReplies {
  /// The bytes of a reply from which on it counts.
  private static let least = 16 << 10

  private var bytes: [ReplyTarget.Client: Int] = [:]

  mutating func note(_ count: Int, _ target: ReplyTarget) {
    if count >= Self.least { bytes[target.client, default: 0] += count }
  }

  func areTooMany(for target: ReplyTarget) -> Bool {
    !bytes.isEmpty && bytes[target.client, default: 0] > RequestTurn.mostBytes
  }
}
