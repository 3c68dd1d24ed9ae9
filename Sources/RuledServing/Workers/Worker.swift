import CLinux
import RuledCore
import RuledEngine
import RuledIO
import RuledLua
import RuledWire

/// One thread of the daemon: its connections, its part of the subjects, and the rules that run on them.
///
/// `run` has the loop call `runTick` at the end of each tick, before output is written; docs/architecture.md has the whole way of an event.
final class Worker {
  let index: Int
  let services: Services
  let commits: CommitPipeline
  /// Lets each worker be borrowed while it sleeps, this one too.
  let borrowable: [BorrowableWorker]
  let loop: EventLoop
  let evaluator: Evaluator
  let table: ConnectionTable
  let replies: ReplySender
  let requestBatches: RequestBatches
  let waiting = WaitingRequests()
  let inbox: MessageInbox
  let pool = BundlePool()
  /// Parses forwarded requests of connections.
  let parser = RequestParser()
  private let parserOfHTTP = RequestParser.ofHTTP()
  private(set) lazy var router = Router(self, pool: pool)
  private(set) lazy var watches = WatchTable(on: loop, commits.hub, key: UInt64(index), services.refusals) {
    [mailbox = services.workers[index]] in
    _ = mailbox.send(.readChanges)
  }
  private var inboxTimer: LoopTimer?
  private var publicationTimer: LoopTimer?

  /// The evaluator's batch that collects, and the replies that wait for it.
  var submission: Submission
  /// The submissions that are not complete, the earliest first.
  var submitted: [Submission] = []
  var spareSubmissions: [Submission] = []

  /// Room for the id of an event that came without one.
  let generatedID = ByteBuffer(capacity: 40)
  var awaitingCascade = AwaitedReplies()
  /// Its connections that have leased effects.
  var leasers: Set<UInt64> = []
  /// The key of the last cascade that a reply waits for.
  var lastCascade: UInt64 = 0
  /// When the requests under way began, in nanoseconds of the monotonic clock.
  var begun: UInt64 = 0
  /// When this tick's time for requests is over; 0 before its first request.
  var turnEnd: UInt64 = 0
  /// The number of clients' events and queries that it has executed.
  var executed: (events: Int, queries: Int) = (0, 0)
  /// The messages of this tick for other workers' subjects, by worker.
  var outgoing: [[CommitBatch.Message]]
  /// The timers that fire next.
  private var dueTimers: [(timer: DueTimer, cascade: Cascade)] = []
  /// The calls of sites' handlers that come next.
  private var handlerCalls: [(Evaluator) -> Void] = []
  /// The numbers of the publications that this tick's commits have brought.
  var published: [UInt64] = []

  init(
    index: Int, services: Services, commits: CommitPipeline, borrowable: [BorrowableWorker], catalog: Catalog,
    inbox settings: MessageInbox.Settings = .init()
  ) throws(SystemError) {
    self.index = index
    self.services = services
    self.commits = commits
    self.borrowable = borrowable
    let loop = try EventLoop()
    self.loop = loop
    let configuration = services.context.configuration
    var limits = ConnectionLimits()
    limits.lineBytes = configuration.limits.requestBytes
    limits.lineMemory = services.lineMemory
    limits.outputMemory = services.outputMemory
    table = ConnectionTable(on: loop, limits: limits)
    requestBatches = RequestBatches(loop: loop, table)
    replies = ReplySender(worker: index, services: services, table: table, requestBatches: requestBatches, pool: pool)
    evaluator = Evaluator(
      context: services.context, catalog: catalog, lua: LuaWorker(),
      cacheBytes: (configuration.limits.cacheMiB << 20) / services.workers.count, worker: UInt64(index))
    submission = Submission(evaluator.batch)
    inbox = MessageInbox(of: index, services: services, evaluator: evaluator, settings: settings)
    outgoing = Array(repeating: [], count: services.workers.count)
  }

  /// The time slice in microseconds that it asks the scheduler for: shorter than the background threads', so that it runs before them.
  private static let slice: UInt32 = 1_000

  /// Serves until the loop is stopped.
  func run() throws(SystemError) {
    table.handler = router
    cl_set_slice(Self.slice)
    cl_take_processor(UInt32(index), UInt32(services.workers.count))
    try services.workers[index].attach(to: loop) { [unowned self] messages in
      for message in messages { handle(message) }
    }
    inboxTimer = try LoopTimer(on: loop) {}
    if index == Self.publisher { publicationTimer = try LoopTimer(on: loop) {} }
    loop.atTickEnd(.work) { [unowned self] in runTick() }
    if services.workers.count > 1, !commits.isDurable {
      loop.pollBeforeSleeping { [unowned self] in router.isExpectingRequests() }
    }
    loop.lockDuringTicks(borrowable[index].lock)
    borrowable[index].allow(self)
    loop.run()
    borrowable[index].forbid()
    inboxTimer?.close()
    publicationTimer?.close()
    services.workers[index].close()
    table.close()
    loop.close()
  }

  // MARK: Ticks

  /// Executes this tick's requests, commits their writes, and applies messages.
  private func runTick() {
    requestBatches.executeNextTurn(on: self)
    router.forwardRequests()
    executeWaitingRequests()
    router.executeOwnRequests()
    turnEnd = 0
    runSome(&handlerCalls, for: RequestTurn.waitingNanoseconds) { $0(evaluator) }
    runSome(&dueTimers, for: inbox.timeSlice) { fire($0.timer, $0.cascade) }
    commitTick()
    if index == Self.publisher { bringPublications() }
    applyMessages()
  }

  /// Runs some of the work that waits, one piece at least, for as many `nanoseconds`; the rest is for the next tick.
  private func runSome<Work>(_ work: inout [Work], for nanoseconds: UInt64, _ body: (Work) -> Void) {
    guard !work.isEmpty else { return }
    let end = EngineClock.monotonic + nanoseconds
    var count = 0
    repeat {
      body(work[count])
      count += 1
    } while count < work.count && EngineClock.monotonic < end
    work.removeFirst(count)
    if !work.isEmpty { loop.onNextTick {} }
  }

  /// The worker that brings publications to the members of their topics.
  static let publisher = 0

  /// Brings publications to some members, behind the tick's commit, for as long as messages are applied in a tick.
  ///
  /// When the daemon ends, only publications that clients wait for go on, for as long as messages do.
  private func bringPublications() {
    guard evaluator.publications.hasWork else { return }
    let isEnding = inbox.endsAt != nil
    if isEnding, inbox.hasEnded || !services.context.publications.areAwaited { return }
    let end = EngineClock.monotonic + inbox.timeSlice
    do throws(RequestError) {
      switch try evaluator.publications.step(onlyAwaited: isEnding, until: { EngineClock.monotonic >= end }) {
      case .nothing: break
      case .more: if !evaluator.batch.isEmpty { loop.onNextTick {} }
      case .later(let milliseconds): publicationTimer?.start(after: milliseconds)
      }
    } catch {
      services.log.write(
        LogLine(.error, "publications can't go on, which is tried again: \(error.message)"),
        limitedBy: "publications can't go on")
      publicationTimer?.start(after: 1_000)
    }
  }

  /// Applies some messages; their writes are committed in the next tick.
  private func applyMessages() {
    switch inbox.applySome() {
    case .sleep: break
    case .again: loop.onNextTick {}
    case .wait(let milliseconds): inboxTimer?.start(after: milliseconds)
    }
  }

  func handle(_ message: WorkerMessage) {
    switch message {
    case .requests(let bundle): executeRequests(in: bundle)
    case .replies(let bundle): replies.sendAll(in: bundle)
    case .durable(let submissions):
      for durable in submissions {
        if durable.worker == index {
          completeSubmission(durable.submission, .durable)
        } else {
          sendForeignReplies(of: durable.submission)
        }
        endUse(of: durable.submission)
      }
    case .lost(let submission, let result): completeSubmission(submission, result)
    case .messages(let messages): inbox.add(messages)
    case .published(let numbers): evaluator.publications.noteMore(numbers)
    case .cascadeEnded(let key, let isWhole): sendReply(awaitingCascade: key, isWhole: isWhole)
    case .evaluate(let body): body(evaluator)
    case .callHandler(let body): handlerCalls.append(body)
    case .fire(let timer, let cascade): dueTimers.append((timer, cascade))
    case .resumeMessages(let found): inbox.begin(found)
    case .retryParked: retryParked()
    case .retryStored(let before, let deferral): inbox.retryParked(before: before, ending: deferral)
    case .deferMessages(let plugins): inbox.deferMessages(of: plugins)
    case .endDeferral(let deferral): inbox.endDeferral(deferral)
    case .adopt(let descriptor, let permit, let client): adopt(descriptor, with: permit, for: client)
    case .evict(let token): table[token]?.evict()
    case .lookForEnd(let token, let then): if table[token]?.isAbandoned ?? true { then() }
    case .readChanges: watches.read()
    case .wake(let body): body()
    case .drain(let done): drain(then: done)
    case .stop: loop.stop()
    }
  }

  func parser(for target: ReplyTarget) -> RequestParser { target.receiver == .http ? parserOfHTTP : parser }

  var isIdle: Bool {
    evaluator.isQuiet && submission.replies.isEmpty && awaitingCascade.isEmpty && dueTimers.isEmpty && waiting.isEmpty
      && handlerCalls.isEmpty
  }

  func updateFigures() {
    let figures = services.figures[index]
    let cache = evaluator.cache
    figures.events.store(executed.events, ordering: .relaxed)
    figures.queries.store(executed.queries, ordering: .relaxed)
    figures.duplicates.store(evaluator.duplicates, ordering: .relaxed)
    figures.differences.store(evaluator.differences, ordering: .relaxed)
    if let tallies = evaluator.rolloutTallies { figures.rollout.value = .init(tallies.live, tallies.candidate) }
    figures.hotSubjects.store(cache.subjects, ordering: .relaxed)
    figures.hotBytes.store(cache.bytes, ordering: .relaxed)
    figures.cacheHits.store(cache.hits, ordering: .relaxed)
    figures.cacheMisses.store(cache.misses, ordering: .relaxed)
  }

  // MARK: Connections

  /// Takes over an accepted connection, which has a permit; with `client`, another node has carried it here.
  private func adopt(_ descriptor: Int32, with permit: ConnectionPermit, for client: ClientAccess?) {
    do throws(SystemError) {
      let connection = try table.adopt(descriptor, with: permit)
      if let client { connection.speakLines(for: client) }
      let (token, mailbox) = (connection.token, services.workers[index])
      permit.onEviction { _ = mailbox.send(.evict(token)) }
    } catch {
      permit.release()
      services.log.write(
        LogLine(.warn, "a connection could not be taken: \(error)"), limitedBy: "a connection of the socket")
    }
  }

  /// Answers all complete lines, closes the connections, and calls `done` once all of it is committed and sent.
  ///
  /// Messages remain in the store for the next start, except messages that a client waits for: these are applied for a while.
  private func drain(then done: @escaping () -> Void) {
    table.drain()
    inbox.end()
    waitUntilIdle(then: done)
  }

  private func waitUntilIdle(then done: @escaping () -> Void) {
    if inbox.hasEnded, evaluator.isQuiet, submission.replies.isEmpty, services.workers[index].isEmpty {
      for key in awaitingCascade.keys { sendReply(awaitingCascade: key, isWhole: false) }
    }
    guard table.count > 0 || !isIdle || !requestBatches.isEmpty else { return done() }
    do throws(SystemError) {
      try loop.timer(after: 5) { [unowned self] in waitUntilIdle(then: done) }
    } catch { done() }
  }
}
