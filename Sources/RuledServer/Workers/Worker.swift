import RuledCore
import RuledEngine
import RuledLua
import RuledWire

/// One thread of the daemon: its connections, its share of the subjects, and the rules that run on them.
///
/// Whatever comes is evaluated at once; what is to be written collects in the evaluator's unit. At the end of each turn of the loop the worker
/// commits it, or leaves it to the committer when another thread is committing, so that one commit takes all that came during the last.
final class Worker {
  let index: Int
  let services: Services
  let loop: EventLoop
  let evaluator: Evaluator
  private(set) lazy var table = ConnectionTable(on: loop, limits: limits, handler: self)
  /// The watchers on its connections.
  private(set) lazy var watches = WorkerWatches(self)
  let parser = RequestParser()
  let forwardedParser = RequestParser()
  /// The document that holds the request at hand.
  var document: OpaquePointer
  let madeID = ByteBuffer(capacity: 40)

  private let limits: ConnectionLimits
  private var isCommitting = false
  /// Replies that wait for a cascade.
  var waiting: [UInt64: (target: ReplyTarget, bytes: [UInt8])] = [:]
  var nextKey: UInt64 = 1
  var batches: [UInt64: BatchState] = [:]
  /// What leaves for other workers at the end of the turn.
  private var forwards: [[WorkerMessage]]
  var bundles: [ReplyBundle]
  private var requests: [RequestBundle?]
  let spare = SpareBundles()
  private var redelivery: LoopTimer?
  private var undelivered: [CommitUnit.Message] = []
  let replyBuffer = ByteBuffer(capacity: 4096)

  init(index: Int, services: Services, catalog: Catalog) throws(SystemError) {
    self.index = index
    self.services = services
    loop = try EventLoop()
    let configuration = services.context.configuration
    var limits = ConnectionLimits()
    limits.lineBytes = configuration.limits.requestBytes
    self.limits = limits
    evaluator = Evaluator(
      context: services.context, catalog: catalog, lua: LuaWorker(),
      cacheBytes: (configuration.limits.cacheMiB << 20) / services.workers.count)
    document = parser.document.handle
    forwards = Array(repeating: [], count: services.workers.count)
    bundles = Array(repeating: ReplyBundle(), count: services.workers.count)
    requests = Array(repeating: nil, count: services.workers.count)
  }

  /// Serves until the loop is stopped.
  func run() throws(SystemError) {
    _ = table
    try services.workers[index].attach(to: loop) { [unowned self] messages in
      for message in messages { take(message) }
    }
    redelivery = try LoopTimer(on: loop) { [unowned self] in redeliver() }
    loop.atTurnEnd(.work) { [unowned self] in
      sendRequests()
      flush()
    }
    loop.run()
    redelivery?.close()
    services.workers[index].close()
    table.close()
    loop.close()
  }

  private func take(_ message: WorkerMessage) {
    switch message {
    case .request(let request): carryOut(request)
    case .requests(let bundle): carryOut(bundle)
    case .replies(let bundle): hand(out: bundle)
    case .finished(let unit, let durable): finished(unit, durable: durable)
    case .deliver(let messages): deliver(messages)
    case .cascadeOver(let key):
      if let reply = waiting.removeValue(forKey: key) { reply.bytes.withUnsafeBytes { send($0, to: reply.target) } }
    case .perform(let body): body(self)
    }
  }

  /// Whether nothing is under way.
  var isIdle: Bool { !isCommitting && evaluator.isQuiet && evaluator.unit.replies.isEmpty && waiting.isEmpty }

  // MARK: Committing

  /// Sends on what collected during the turn.
  private func flush() {
    while !isCommitting, submit() {}
    for worker in forwards.indices where !forwards[worker].isEmpty {
      let messages = forwards[worker]
      forwards[worker].removeAll(keepingCapacity: true)
      _ = services.workers[worker].send(contentsOf: messages)
    }
    for worker in bundles.indices where !bundles[worker].entries.isEmpty {
      let bundle = bundles[worker]
      bundles[worker] = ReplyBundle()
      _ = services.workers[worker].send(.replies(bundle))
    }
  }

  /// Has the unit that collected committed, here unless another thread is committing; says whether there was one.
  private func submit() -> Bool {
    let unit = evaluator.unit
    guard !unit.isEmpty || !unit.replies.isEmpty || !unit.awaited.isEmpty else { return false }
    noteFigures()
    let taken = evaluator.takeUnit()
    if isForWorker(taken), let outcome = services.commits.commitAlone(taken) {
      finished(taken, durable: services.conclude(outcome))
      return true
    }
    isCommitting = true
    _ = services.committer.send(.commit(Submission(worker: index, unit: taken)))
    return true
  }

  /// Whether the worker had better commit the unit itself: waiting for the disk costs it less than waiting for the committer.
  ///
  /// With a sync in each commit, a worker that has much to do leaves the waiting to the committer and goes on evaluating.
  private func isForWorker(_ unit: CommitUnit) -> Bool {
    services.context.configuration.durability != .commit || unit.replies.count <= Self.fewReplies
  }

  /// How many replies may wait for a sync on the worker's own thread.
  private static let fewReplies = 16

  private func noteFigures() {
    let hot = evaluator.hotSubjects
    services.figures[index].hotSubjects.store(hot.count, ordering: .relaxed)
    services.figures[index].hotBytes.store(hot.bytes, ordering: .relaxed)
  }

  private func finished(_ unit: CommitUnit, durable: Bool) {
    isCommitting = false
    for unit in evaluator.finished(unit, durable: durable) {
      durable ? release(unit) : refuse(unit)
    }
  }

  /// Lets go what waited for the commit.
  private func release(_ unit: CommitUnit) {
    for reply in unit.replies {
      let bytes = UnsafeRawBufferPointer(rebasing: unit.replyBytes.bytes[reply.range])
      if let cascade = reply.cascade {
        waiting[cascade.key] = (reply.target, Array(bytes))
        cascade.cascade.ended()
      } else {
        send(bytes, to: reply.target)
      }
    }
    dispatch(unit.messages)
    for message in unit.delivered { message.cascade?.ended() }
    for cascade in unit.awaited { cascade.ended() }
    if let due = unit.earliestTimer { _ = services.control.send(.timerSet(due)) }
    services.outbox.recorded(unit.effects)
  }

  /// Answers that nothing was applied.
  private func refuse(_ unit: CommitUnit) {
    let error = RequestError(.unavailable, "the store refused the commit: nothing was applied, send it again")
    for reply in unit.replies {
      replyBuffer.removeAll()
      if !reply.id.isEmpty {
        ReplyWriter.error(error, id: UnsafeRawBufferPointer(rebasing: unit.replyBytes.bytes[reply.id]), to: replyBuffer)
        if reply.target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
      }
      send(replyBuffer.bytes, to: reply.target)
    }
    for message in unit.messages { message.cascade?.ended() }
    for cascade in unit.awaited { cascade.lost() }
    undelivered += unit.delivered
    redelivery?.start(after: 200)
  }

  // MARK: Messages

  /// Hands messages to the workers whose subjects they are for.
  private func dispatch(_ messages: [CommitUnit.Message]) {
    guard !messages.isEmpty else { return }
    var own: [CommitUnit.Message] = []
    var others: [Int: [CommitUnit.Message]] = [:]
    for message in messages {
      let owner = services.owner(of: message.subject)
      if owner == index { own.append(message) } else { others[owner, default: []].append(message) }
    }
    for (worker, messages) in others { forwards[worker].append(.deliver(messages)) }
    if !own.isEmpty { deliver(own) }
  }

  private func deliver(_ messages: [CommitUnit.Message]) {
    guard undelivered.isEmpty else {
      undelivered += messages
      return
    }
    for (place, message) in messages.enumerated() {
      do throws(RequestError) { try evaluator.deliver(message) } catch {
        undelivered += messages[place...]
        redelivery?.start(after: 200)
        return
      }
    }
  }

  private func redeliver() {
    let messages = undelivered.sorted { $0.sequence < $1.sequence }
    undelivered.removeAll()
    deliver(messages)
  }

  // MARK: Sending

  /// Leaves a request to another worker.
  func forward(_ text: UnsafeRawBufferPointer, _ target: ReplyTarget, to worker: Int) {
    let bundle = requests[worker] ?? spare.takeRequests()
    if requests[worker] == nil { requests[worker] = bundle }
    bundle.append(text, target)
  }

  /// Sends on the requests of the turn.
  private func sendRequests() {
    for worker in requests.indices {
      guard let bundle = requests[worker] else { continue }
      requests[worker] = nil
      _ = services.workers[worker].send(.requests(bundle))
    }
  }

  /// Sends a reply, complete with its newline where it stands alone.
  func send(_ bytes: UnsafeRawBufferPointer, to target: ReplyTarget) {
    if target.worker == HTTPServer.worker {
      services.http.withLock { $0 }?.take(bytes, for: target)
      return
    }
    guard target.worker == index else {
      return bundles[target.worker].append(bytes, to: target, from: spare)
    }
    guard target.batch == 0 else { return took(bytes, batch: target.batch, slot: target.slot) }
    services.inFlight.wrappingSubtract(1, ordering: .relaxed)
    guard let connection = table[ConnectionToken(raw: target.connection)] else { return }
    if !bytes.isEmpty { connection.send(bytes) }
    connection.endRequest()
  }

  private func hand(out bundle: ReplyBundle) {
    bundle.handOut(to: spare) { send($0, to: $1) }
  }
}
