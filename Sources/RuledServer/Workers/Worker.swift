import CLinux
import RuledCore
import RuledEngine
import RuledLua
import RuledWire

/// One thread of the daemon: its connections, its share of the subjects, and the rules that run on them.
///
/// Whatever comes is evaluated at once; what is to be written collects in the evaluator's batch. At the end of each turn of the loop the worker
/// commits it; when each commit is synced, a worker that has much to do leaves the sync to the committer and goes on evaluating.
final class Worker {
  let index: Int
  let services: Services
  let loop: EventLoop
  let evaluator: Evaluator
  /// The evaluator's batch that collects, and the replies that wait for it.
  private(set) var submission: Submission
  /// What was submitted and is not complete, the earliest first.
  private var submitted: [Submission] = []
  private var spareSubmissions: [Submission] = []
  private static let mostSpareSubmissions = 8
  private(set) lazy var table = ConnectionTable(on: loop, limits: limits, handler: self)
  /// The watchers on its connections.
  private(set) lazy var watches = WorkerWatches(self)
  let parser = RequestParser()
  let forwardedParser = RequestParser()
  /// The document that holds the request at hand.
  var document: OpaquePointer
  let madeID = ByteBuffer(capacity: 40)

  private let limits: ConnectionLimits
  /// Replies that wait for a cascade.
  var waiting: [UInt64: (target: ReplyTarget, bytes: [UInt8])] = [:]
  var nextKey: UInt64 = 1
  var batches = BatchQueue()
  /// What leaves for other workers at the end of the turn.
  private var forwards: [[WorkerMessage]]
  var bundles: [ReplyBundle]
  private var requests: [RequestBundle?]
  let spare = SpareBundles()
  /// The messages for its subjects.
  let inbox: MessageInbox
  private var inboxTimer: LoopTimer?
  let replyBuffer = ByteBuffer(capacity: 4096)
  var tookRequests = false

  init(
    index: Int, services: Services, catalog: Catalog, inbox settings: MessageInbox.Settings = .init()
  ) throws(SystemError) {
    self.index = index
    self.services = services
    loop = try EventLoop()
    let configuration = services.context.configuration
    var limits = ConnectionLimits()
    limits.lineBytes = configuration.limits.requestBytes
    limits.lineMemory = services.lineMemory
    self.limits = limits
    evaluator = Evaluator(
      context: services.context, catalog: catalog, lua: LuaWorker(),
      cacheBytes: (configuration.limits.cacheMiB << 20) / services.workers.count)
    submission = Submission(evaluator.batch)
    inbox = MessageInbox(of: index, services: services, evaluator: evaluator, settings: settings)
    document = parser.document.handle
    forwards = Array(repeating: [], count: services.workers.count)
    bundles = Array(repeating: ReplyBundle(), count: services.workers.count)
    requests = Array(repeating: nil, count: services.workers.count)
  }

  /// How many microseconds it takes at a time: fewer than the background's threads, which let it go first.
  private static let slice: UInt32 = 1_000

  /// Serves until the loop is stopped.
  func run() throws(SystemError) {
    _ = table
    cl_set_slice(Self.slice)
    cl_take_processor(UInt32(index), UInt32(services.workers.count))
    try services.workers[index].attach(to: loop) { [unowned self] messages in
      for message in messages { take(message) }
    }
    inboxTimer = try LoopTimer(on: loop) {}
    loop.atTurnEnd(.work) { [unowned self] in
      sendRequests()
      flush()
      applyMessages()
    }
    if services.workers.count > 1, !services.commits.isDurable {
      loop.lookOut { [unowned self] in isExpectingRequests() }
    }
    loop.keep(services.loans[index].gate)
    services.loans[index].offer(self)
    loop.run()
    services.loans[index].withdraw()
    inboxTimer?.close()
    services.workers[index].close()
    table.close()
    loop.close()
  }

  func take(_ message: WorkerMessage) {
    switch message {
    case .request(let request): carryOut(request)
    case .requests(let bundle): carryOut(bundle)
    case .replies(let bundle): hand(out: bundle)
    case .durable(let batches):
      for durable in batches {
        if durable.worker == index {
          complete(durable.submission, .durable)
        } else {
          sendReplies(of: durable.submission)
        }
        release(durable.submission)
      }
    case .lost(let submission, let result): complete(submission, result)
    case .deliver(let messages): inbox.add(messages)
    case .cascadeOver(let key, let isWhole):
      guard let reply = waiting.removeValue(forKey: key) else { return }
      if isWhole {
        reply.bytes.withUnsafeBytes { send($0, to: reply.target) }
      } else {
        send(unfinished: reply.bytes, to: reply.target)
      }
    case .perform(let body): body(self)
    }
  }

  /// Whether nothing is under way.
  var isIdle: Bool { evaluator.isQuiet && submission.replies.isEmpty && waiting.isEmpty }

  /// Whether it has taken requests since it last said so, and all there were have been answered.
  private func isExpectingRequests() -> Bool {
    guard tookRequests, services.inFlight.load(ordering: .relaxed) == 0 else { return false }
    tookRequests = false
    return true
  }

  // MARK: Committing

  /// Sends on what collected during the turn.
  func flush() {
    while submit() {}
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

  /// Submits what collected to the commit pipeline; false when there was nothing.
  private func submit() -> Bool {
    guard !submission.isEmpty else { return false }
    noteFigures()
    let isFirst = submitted.isEmpty
    let full = takeSubmission()
    if isFirst, isForWorker(full) {
      let (result, error) = services.commits.commit(full, of: index)
      services.report(error)
      if result == .durable { share(full) }
      complete(full, result)
      if result == .durable { release(full) }
    } else {
      services.report(services.commits.submit(full, of: index, inFlight: services.inFlight.load(ordering: .relaxed)))
    }
    return true
  }

  /// Hands out what collected and begins another submission.
  private func takeSubmission() -> Submission {
    let full = submission
    _ = evaluator.takeBatch()
    submitted.append(full)
    let next = evaluator.batch
    if let spare = spareSubmissions.popLast(), spare.reuse(for: next) {
      submission = spare
    } else {
      submission = Submission(next)
    }
    return full
  }

  /// Whether the worker should wait for the disk itself, as it has nothing else to do meanwhile.
  private func isForWorker(_ submission: Submission) -> Bool {
    !services.commits.isDurable || submission.replies.count >= services.inFlight.load(ordering: .relaxed)
  }

  private func noteFigures() {
    let hot = evaluator.hotSubjects
    services.figures[index].hotSubjects.store(hot.count, ordering: .relaxed)
    services.figures[index].hotBytes.store(hot.bytes, ordering: .relaxed)
  }

  /// Ends a submission: releases all that waited for it, or refuses it and all that build on it.
  private func complete(_ done: Submission, _ result: CommitResult) {
    guard submitted.contains(where: { $0 === done }) else { return }  // it was lost with one before it
    guard result == .durable else {
      services.commits.resume(index)
      let lost = submitted + [submission]
      submitted.removeAll()
      _ = evaluator.finished(done.batch, durable: false)
      submission = Submission(evaluator.batch)
      for submission in lost { refuse(submission, result) }
      return
    }
    submitted.removeFirst()
    _ = evaluator.finished(done.batch, durable: true)
    dispatch(done)
  }

  /// Shows a durable submission to the other workers on whose connections replies of it wait.
  private func share(_ durable: Submission) {
    let receivers = services.workers.indices.filter { $0 != index && durable.recipients.contains($0) }
    durable.share(among: receivers.count + 1)
    for worker in receivers {
      services.workers[worker].send(.durable([DurableSubmission(worker: index, submission: durable)]))
    }
  }

  /// Ends this worker's use of a durable submission.
  private func release(_ durable: Submission) {
    guard durable.release() else { return }
    evaluator.giveBack(durable.batch)
    if spareSubmissions.count < Self.mostSpareSubmissions { spareSubmissions.append(durable) }
  }

  /// Sends the replies for this worker's connections.
  private func sendReplies(of durable: Submission) {
    for reply in durable.replies where reply.target.worker == index && reply.cascade == nil {
      send(durable.bytes(of: reply), to: reply.target)
    }
  }

  /// Sends what waited for the commit on its way, but for the replies that other workers send themselves.
  private func dispatch(_ durable: Submission) {
    for reply in durable.replies {
      if let cascade = reply.cascade {
        waiting[cascade.key] = (reply.target, Array(durable.bytes(of: reply)))
        cascade.cascade.ended()
      } else if reply.target.worker == index || reply.target.worker == HTTPServer.worker {
        send(durable.bytes(of: reply), to: reply.target)
      }
    }
    let batch = durable.batch
    dispatch(batch.messages)
    inbox.settled(batch.delivered)
    for cascade in batch.awaited { cascade.ended() }
    if let due = batch.earliestTimer { _ = services.control.send(.timerSet(due)) }
    services.outbox.recorded(batch.effects)
  }

  /// Answers that nothing was applied, or that it is not known whether it was.
  private func refuse(_ lost: Submission, _ result: CommitResult) {
    let error =
      result == .unknown
      ? RequestError(
        .outcomeUnknown,
        "the disk failed while the commit was on its way: it may have been applied or not; send it again with the same id, which applies it once"
      )
      : RequestError(.unavailable, "the store refused the commit: nothing was applied, send it again")
    for reply in lost.replies {
      replyBuffer.removeAll()
      if !reply.id.isEmpty {
        ReplyWriter.error(error, id: lost.id(of: reply), to: replyBuffer)
        if reply.target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
      }
      send(replyBuffer.bytes, to: reply.target)
    }
    for message in lost.batch.messages { message.cascade?.ended() }
    for cascade in lost.batch.awaited { cascade.lost() }
    inbox.lost(lost.batch.delivered)
  }

  // MARK: Messages

  /// Hands messages to the workers whose subjects they are for.
  private func dispatch(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    var own: [CommitBatch.Message] = []
    var others: [Int: [CommitBatch.Message]] = [:]
    for message in messages {
      let owner = services.owner(of: message.subject)
      if owner == index { own.append(message) } else { others[owner, default: []].append(message) }
    }
    for (worker, messages) in others { forwards[worker].append(.deliver(messages)) }
    inbox.add(own)
  }

  /// Applies some messages once the turn's requests are done, and has what is left of them, or of their commit, done in a next one.
  private func applyMessages() {
    switch inbox.turn() {
    case .sleep: break
    case .again: loop.soon {}
    case .wait(let milliseconds): inboxTimer?.start(after: milliseconds)
    }
  }

  // MARK: Sending

  /// Leaves a request about the subject whose name has that hash to its worker, this one at the end of the turn.
  func forward(_ text: UnsafeRawBufferPointer, _ target: ReplyTarget, subject: UInt64, to worker: Int) {
    let bundle = requests[worker] ?? spare.takeRequests()
    if requests[worker] == nil { requests[worker] = bundle }
    bundle.append(text, target, subject: subject)
  }

  /// Sends on the requests of the turn, and carries out this worker's own.
  private func sendRequests() {
    for worker in requests.indices where worker != index {
      guard let bundle = requests[worker] else { continue }
      requests[worker] = nil
      if bundle.entries.count == 1, requests[index] == nil, carryOut(bundle, inPlaceOf: worker) { continue }
      _ = services.workers[worker].send(.requests(bundle))
    }
    carryOutOwn()
  }

  /// Carries out the turn's requests for own subjects that were put off, before any that came after them.
  func carryOutOwn() {
    guard let bundle = requests[index] else { return }
    requests[index] = nil
    carryOut(bundle)
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
