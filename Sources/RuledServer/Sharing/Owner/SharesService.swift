import RuledCluster
import RuledCore
import RuledEngine
import RuledStore
import RuledThreads

/// Lends subjects to the other nodes while this node owns the log, on a thread of its own.
///
/// It shares the partitions out evenly among this node and those that have joined, takes them back while somebody needs all subjects here, and
/// recovers those of a node that is lost. One move is under way at a time.
final class SharesService {
  /// How often it looks at what is to be done, in milliseconds.
  private static let period: UInt64 = 20
  /// How long a node may send nothing, in nanoseconds: once it evaluates, and while it prepares for that.
  private static let (silence, preparation): (UInt64, UInt64) = (2_000_000_000, 60_000_000_000)
  /// How late this thread may be to look at what is to be done, in nanoseconds, so that the time until then counts as silence of a node.
  private static let mostLate: UInt64 = 500_000_000
  /// How many partitions move at a time.
  private static let moveSize = 32
  /// How long nothing is lent after subjects were taken back for somebody, in nanoseconds.
  private static let rest: UInt64 = 100_000_000
  /// How often nodes get to know what is wrong, in nanoseconds.
  private static let problemsInterval: UInt64 = 500_000_000
  /// How often nodes get further numbers, in nanoseconds.
  private static let numbersInterval: UInt64 = 600_000_000_000

  private let services: Services
  private let shares: Shares
  private let lending: Lending
  private let loop: EventLoop
  private var evaluators: [RemoteEvaluator] = []
  /// Connections that have not joined yet.
  private var guests: [ObjectIdentifier: ShareChannel] = [:]
  private var move: PartitionMove?
  private var moves: UInt64 = 0
  /// How many nodes have joined so far.
  private var joins = 0
  private var lendsAt: UInt64 = 0
  /// When this thread last looked at what is to be done, and since when it has always done so in time.
  private var (lookedAt, inTimeSince) = (EngineClock.monotonic, EngineClock.monotonic)
  private var numbersAt: UInt64 = EngineClock.monotonic + numbersInterval
  private var problemsAt: UInt64 = 0
  private var isEnding = false
  private var timer: LoopTimer?

  /// Runs until `Lending.Command.end`, on the calling thread.
  static func run(_ services: Services, _ shares: Shares, _ lending: Lending) throws(SystemError) {
    let loop = try EventLoop()
    let service = SharesService(services, shares, lending, loop)
    try service.start()
    loop.run()
    service.close()
    loop.close()
  }

  private init(_ services: Services, _ shares: Shares, _ lending: Lending, _ loop: EventLoop) {
    self.services = services
    self.shares = shares
    self.lending = lending
    self.loop = loop
  }

  private func start() throws(SystemError) {
    for (slot, mailbox) in shares.receivers.enumerated() {
      try mailbox.attach(to: loop) { [unowned self] messages in
        guard let evaluator = evaluators.first(where: { $0.slot == slot }) else { return drop(messages) }
        if evaluator.loss == nil { tell(evaluator) }  // of plugins that were suspended before a client sent this
        for message in messages { evaluator.receive(message) }
      }
    }
    try lending.commands.attach(to: loop) { [unowned self] in for command in $0 { execute(command) } }
    timer = try loop.timer(after: Self.period, every: Self.period) { [unowned self] in check() }
    loop.atTickEnd(.work) { [unowned self] in for evaluator in evaluators { evaluator.flush() } }
  }

  private func close() {
    timer?.close()
    for evaluator in evaluators { _ = evaluator.fail("the owner of the log ends") }
    for guest in guests.values { guest.close("the owner of the log ends") }
    lending.commands.close()
    for receiver in shares.receivers { receiver.close() }
    lending.noteAllHere()
  }

  /// Ends what comes for a node that has left.
  private func drop(_ messages: [WorkerMessage]) {
    for message in messages {
      switch message {
      case .request(let request): _ = services.workers[0].send(.request(request))
      case .requests(let bundle):
        for entry in bundle.entries { _ = services.workers[0].send(.request(bundle.request(entry))) }
      case .messages(let messages): for message in messages { message.cascade?.leave(isCommitted: false) }
      case .fire(let timer, let cascade):
        _ = services.control.send(.timerMoved(timer))
        cascade.leave()
      case .replies(let bundle): bundle.forEach { _, _ in services.inFlight.wrappingSubtract(1, ordering: .relaxed) }
      default: break
      }
    }
  }

  private func execute(_ command: Lending.Command) {
    switch command {
    case .adopt(let socket): adopt(socket)
    case .holdsChanged:
      if !lending.isHeld { lendsAt = EngineClock.monotonic + Self.rest }
      check()
    case .stepDone:
      move?.workersDone()
      check()
    case .end:
      isEnding = true
      loop.stop()
    }
  }

  // MARK: Nodes

  private func adopt(_ socket: any ShareSocket) {
    var channel: ShareChannel?
    var joined: RemoteEvaluator?
    do throws(SystemError) {
      let made = try ShareChannel(on: loop, socket, senders: services.context.senders) { [unowned self] frame in
        guard let channel else { return }
        if let joined { return receive(frame, from: joined) }
        joined = join(frame, channel)
      } ended: { [unowned self] reason in
        if let channel { guests[ObjectIdentifier(channel)] = nil }
        channel = nil
        guard let evaluator = joined, evaluator.loss == nil else { return }
        evaluator.loss = reason
        check()
      }
      channel = made
      guests[ObjectIdentifier(made)] = made
    } catch {
      services.context.log.write(LogLine(.warn, "a node's share of the subjects can't begin: \(error)"))
    }
  }

  private func join(_ frame: ShareFrame, _ channel: ShareChannel) -> RemoteEvaluator? {
    guests[ObjectIdentifier(channel)] = nil
    guard case .join(let join) = frame else {
      channel.close("the first frame must be 'join'")
      return nil
    }
    if let former = evaluators.first(where: { $0.node == join.node }), former.loss == nil {
      former.loss = "node \(join.node) has joined again"
    }
    let used = Set(evaluators.map(\.slot))
    guard let slot = shares.receivers.indices.first(where: { !used.contains($0) }) else {
      channel.close("\(Shares.mostNodes) other nodes evaluate already")
      return nil
    }
    if let problem = services.reasonNotToShare(join.revision) {
      channel.close(problem)
      return nil
    }
    joins += 1
    let evaluator = RemoteEvaluator(
      join, terms: services.shareTerms, number: joins, slot: slot, services, lending, channel)
    evaluators.append(evaluator)
    services.context.log.write(LogLine(.info, "node \(join.node) evaluates for a part of the subjects"))
    publish()
    return evaluator
  }

  private func receive(_ frame: ShareFrame, from evaluator: RemoteEvaluator) {
    switch frame {
    case .submit(let round, let submissions): evaluator.submit(submissions, round: round)
    case .replies(let replies): evaluator.reply(replies)
    case .clientRequests(let requests): evaluator.execute(requests)
    case .timerFailed(let timer, let error): _ = services.control.send(.timerFailed(timer, error))
    case .ended(let number, let isWhole): evaluator.end(number, isWhole: isWhole)
    case .counted(let counts): evaluator.count(counts)
    case .unsendable(let number): evaluator.refuse(number)
    case .health(let health):
      evaluator.health = health
      publishHealth()
    case .ping(let time, _): evaluator.pong(time)
    case .released(let number, let sequence):
      move?.released(number, sequence: sequence)
    case .leave:
      evaluator.isLeaving = true
      check()
    case .farewell(let reason): evaluator.loss = reason
    case .join, .accept, .grant, .release, .requests, .clientReplies, .messages, .fire, .committed, .pong, .suspended,
      .clock, .position, .problems:
      evaluator.loss = "it sent a frame that only an owner sends"
    }
  }

  // MARK: Moving

  /// Goes on with the move that is under way, or begins the next one.
  private func check() {
    let now = EngineClock.monotonic
    // Input that came while this thread was held up is not read yet.
    if now > lookedAt + Self.mostLate { inTimeSince = now }
    lookedAt = now
    for evaluator in evaluators where evaluator.loss == nil {
      let silence = evaluator.isReady ? Self.silence : Self.preparation
      guard now > max(evaluator.channel.lastInput, inTimeSince) + silence else { continue }
      evaluator.loss = "it has sent nothing for \(silence / 1_000_000_000) s"
    }
    if let current = move {
      if current.check(now: now) {
        guard current.isDone else { return }
        moves += 1
      }
      move = nil
      publish()
    }
    guard !isEnding else { return }
    removeLost()
    for evaluator in evaluators where evaluator.loss == nil { tell(evaluator) }
    if now >= problemsAt {
      problemsAt = now + Self.problemsInterval
      tellProblems()
    }
    begin(now)
    if now >= numbersAt {
      numbersAt = now + Self.numbersInterval
      for evaluator in evaluators { evaluator.grantNumbers(services.reserveNumbers()) }
    }
  }

  /// Forgets nodes that are lost and have nothing any more.
  private func removeLost() {
    for evaluator in evaluators where evaluator.loss != nil && evaluator.partitions.isEmpty && evaluator.isSettled {
      guard evaluator.coming.isEmpty else { continue }
      services.context.log.write(
        LogLine(.info, "node \(evaluator.node) does not evaluate any more: \(evaluator.loss ?? "")"))
      _ = evaluator.fail(evaluator.loss ?? "")
      evaluators.removeAll { $0 === evaluator }
      publish()
      publishHealth()
    }
  }

  /// Begins the move that is most urgent.
  private func begin(_ now: UInt64) {
    guard move == nil else { return }
    if let lost = evaluators.first(where: { $0.loss != nil && !($0.partitions.isEmpty && $0.coming.isEmpty) }) {
      var partitions = lost.partitions
      partitions.formUnion(lost.coming)
      return begin(.recover(lost.fail(lost.loss ?? "")), partitions, lost)
    }
    let needsAll = lending.isHeld || services.isRollingOut
    var isWaiting = false
    for evaluator in evaluators where evaluator.loss == nil {
      let isOutdated =
        services.reasonNotToShare(evaluator.revision) != nil || evaluator.terms.journals != services.hasJournals
      guard needsAll || isOutdated || evaluator.isLeaving else { continue }
      if !evaluator.partitions.isEmpty { return begin(.takeBack, evaluator.partitions, evaluator) }
      guard evaluator.unanswered == 0 else {
        isWaiting = true  // not for long: without partitions, a node sends nothing of its clients any more
        continue
      }
      if evaluator.isLeaving {
        evaluator.loss = "it takes no more part"
      } else if !needsAll {
        evaluator.loss = "other rules are in force, or the journal was turned on or off"
      }
    }
    if needsAll { return lending.noteAllHere() }
    guard now >= lendsAt, !isWaiting else { return }
    let ready = evaluators.filter { $0.loss == nil && $0.isReady }
    guard !ready.isEmpty else { return }
    let share = Partition.count / (ready.count + 1)
    if let rich = ready.first(where: { $0.partitions.count > share }) {
      let extra = rich.partitions.partitions.suffix(min(Self.moveSize, rich.partitions.count - share))
      return begin(.takeBack, PartitionSet(extra), rich)
    }
    guard let poor = ready.first(where: { $0.partitions.count < share }) else { return }
    let here = (0..<Partition.count).map { Partition(UInt8($0)) }.filter { shares[$0] == nil }
    let next = PartitionSet(here.suffix(min(Self.moveSize, share - poor.partitions.count)))
    guard lending.beginLending() else { return }
    tell(poor)  // what can't change from here on
    begin(.lend, next, poor)
  }

  /// Tells a node what holds for all subjects.
  private func tell(_ evaluator: RemoteEvaluator) {
    let suspended = (services.status.catalog?.plugins ?? []).filter(\.runtime.isSuspended).map(\.name)
    evaluator.tell(suspended: Set(suspended), clock: services.manualClock)
  }

  /// Tells all nodes what is wrong with this one and the others, so that each can say so.
  private func tellProblems() {
    guard !evaluators.isEmpty else { return }
    let own = services.context.configuration.cluster.node
    var problems = services.status.findings(services).problems.map { (node: own, text: "node \(own): \($0)") }
    for evaluator in evaluators {
      problems += evaluator.health.problems.map { (evaluator.node, "node \(evaluator.node): \($0)") }
    }
    for evaluator in evaluators where evaluator.loss == nil {
      evaluator.tell(problems: problems.filter { $0.node != evaluator.node }.map(\.text))
    }
  }

  private func publishHealth() {
    services.elsewhere?.heldSubjects.store(
      Int(evaluators.reduce(0) { $0 + $1.health.heldSubjects }), ordering: .relaxed)
    lending.publish(evaluators.map { ($0.node, $0.health) })
  }

  private func begin(_ direction: PartitionMove.Direction, _ partitions: PartitionSet, _ evaluator: RemoteEvaluator) {
    move = PartitionMove(direction, partitions, evaluator, number: moves + 1, services, shares, lending)
  }

  private func publish() {
    var overview = Lending.Overview(moves: Int(moves))
    for evaluator in evaluators {
      overview.nodes[evaluator.node] = evaluator.partitions.count
      overview.names[evaluator.slot] = evaluator.node
    }
    lending.publish(overview)
    services.membership?.node.setShares(overview.nodes, moves: overview.moves)
  }
}
