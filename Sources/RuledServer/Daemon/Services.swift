import RuledCore
package import RuledEngine
import RuledStore
import Synchronization

/// What the threads of a daemon share.
package final class Services: Sendable {
  /// The engine's shared part.
  package let context: EngineContext
  /// Where each worker gets its messages.
  let workers: [Mailbox<WorkerMessage>]
  /// The subjects that are lent to other nodes, or that this node was lent; nil where none can be.
  let shares: Shares?
  /// Lends subjects to other nodes; nil where that can't be.
  let lending: Lending?
  /// The evaluation for the owner of the log; nil on a daemon that commits itself.
  let evaluation: (any OwnersEvaluation)?
  /// Where each evaluator of subjects gets its messages: the workers, then those that stand for other nodes.
  let receivers: [Mailbox<WorkerMessage>]
  /// Lets other workers borrow each worker while it sleeps.
  let borrowable: [BorrowableWorker]
  /// What makes batches durable.
  let commits: CommitPipeline
  /// Where the control thread gets its messages.
  let control = Mailbox<ControlMessage>()
  /// Where the loader's thread gets its requests.
  let reloads = Reloads()
  /// Where the thread that delivers effects gets its messages.
  package let outbox = Outbox()
  /// The sources of the rules' revisions.
  let revisions: RevisionArchive
  /// The rules that see live events beside the live rules, nil while there are none.
  let shadow = Mutex<Shadow?>(nil)
  /// The state of the daemon, for `health`.
  package let status = DaemonStatus()
  /// What the control thread counts for the metrics.
  let timers = TimerFigures()
  /// What is counted for the metrics of requests about subjects that are evaluated elsewhere; nil where there can be none.
  let elsewhere: WorkerFigures?
  /// What is counted for the metrics: by each worker, and `elsewhere`.
  let figures: [WorkerFigures]
  /// The server for clients that speak HTTP, while there is one.
  let http = Mutex<HTTPServer?>(nil)
  /// The tokens and sessions of the dashboard.
  let sessions = DashboardSessions()
  /// The files of the dashboard's page.
  let dashboard = DashboardFiles.besideProgram()
  /// The load over the last hour.
  let load = LoadHistory()
  /// The last changes, for watchers.
  let hub: WatchHub
  /// The journal; nil when it is off.
  let journal: JournalService?
  /// The daemon's part in a cluster; nil without one.
  let membership: ClusterMembership?
  /// Agrees with the other nodes on rules; nil outside of a cluster.
  var agreement: RulesAgreement? { membership?.agreement }
  /// Whether a thread makes a checkpoint of the store.
  let isMakingCheckpoint = Atomic(false)
  /// Whether a client's backtest runs.
  let isBacktesting = Atomic(false)
  /// Whether effects are held back since a restore.
  let effectsAreHeld = Atomic(false)
  /// The number of requests in flight: received and not answered.
  let inFlight = Atomic<Int>(0)
  /// The memory of incomplete long lines of all workers.
  let lineMemory: LineMemory
  /// The number of connections that are open, or accepted and on their way to a worker.
  let connections = Atomic<Int>(0)
  /// The limit of connections: the configured one, or fewer if the process may not open as many files.
  let connectionLimit: Int
  /// Reports the daemon's state to systemd.
  let notifier: SystemdNotifier
  private let current: Mutex<(configuration: Configuration, admins: Administrators, couriers: Administrators)>
  private let generations = Atomic<Int>(1)

  init(
    context: EngineContext, workers count: Int, notifier: SystemdNotifier = .silent, connectionLimit: Int? = nil,
    journal: JournalService? = nil, membership: ClusterMembership? = nil, shares: Shares? = nil,
    lending: Lending? = nil, evaluation: (any OwnersEvaluation)? = nil
  ) {
    self.lending = lending
    self.shares = shares
    self.evaluation = evaluation
    self.journal = journal
    self.membership = membership
    self.connectionLimit = connectionLimit ?? context.configuration.limits.connections
    self.context = context
    self.notifier = notifier
    revisions = RevisionArchive(folder: context.configuration.storeFolder.map { "\($0)/\(RevisionArchive.folder)" })
    workers = (0..<count).map { _ in Mailbox<WorkerMessage>() }
    receivers = workers + (shares?.receivers ?? [])
    borrowable = (0..<count).map { _ in BorrowableWorker() }
    hub = WatchHub(spare: context.changeLogs)
    commits = CommitPipeline(context: context, hub: hub, workers: receivers)
    lineMemory = LineMemory(max(Limits.lineBytes, 4 * context.configuration.limits.requestBytes))
    elsewhere = shares == nil ? nil : WorkerFigures()
    figures = (0..<count).map { _ in WorkerFigures() } + [elsewhere].compactMap(\.self)
    let configuration = context.configuration
    current = Mutex(
      (configuration, Administrators(configuration.admins), Administrators(configuration.couriers)))
  }

  /// The present configuration: that of the start, except for what a reload may change.
  var configuration: Configuration { current.withLock { $0.configuration } }

  /// The present administrators.
  var admins: Administrators { current.withLock { $0.admins } }

  /// Those who may lease effects: the administrators that are always there, and the configured couriers.
  var couriers: Administrators { current.withLock { $0.couriers } }

  /// The number of configurations so far; it changes with each reload.
  var generation: Int { generations.load(ordering: .relaxed) }

  /// Adopts what may change at run time from another configuration.
  func adopt(_ next: Configuration) {
    context.adopt(next)
    membership?.links?.reloadIdentity()
    if next.journal.isOn { journal?.journal.adopt(next.journal) }
    current.withLock { current in
      current.configuration.adopt(next)
      current.admins = Administrators(next.admins)
      current.couriers = Administrators(next.couriers)
    }
    generations.wrappingAdd(1, ordering: .relaxed)
  }

  /// Logs the names in the configuration that the rules or this host do not know.
  func warnOfUnknownNames(_ catalog: Catalog) {
    for name in catalog.problems(in: configuration) {
      context.log.write(LogLine(.warn, "the configuration: \(name.message)"))
    }
    for (key, names) in [("admins", admins.unknown), ("couriers", couriers.unknown)] {
      for name in names {
        let kind = name.hasPrefix("@") ? "group" : "user"
        context.log.write(
          LogLine(.warn, "the configuration's \(key) name a \(kind) '\(name)' that this host does not know"))
      }
    }
  }

  /// Reports the daemon's state to systemd.
  func notifyStatus() { notifier.status(status.line) }

  /// Passes replies to the thread that has the connections.
  func send(_ bundle: ReplyBundle, to receiver: ReplyTarget.Receiver) {
    switch receiver {
    case .worker, .node: index(of: receiver).map { _ = receivers[$0].send(.replies(bundle)) }
    case .http:
      guard let server = http.withLock({ $0 }) else { return }
      bundle.forEach { server.receive($0, for: $1) }
    case .owner, .standby: evaluation?.reply(bundle, recyclingTo: nil)
    }
  }

  /// The index among `receivers` of what gets such replies; nil if they go another way.
  func index(of receiver: ReplyTarget.Receiver) -> Int? {
    switch receiver {
    case .worker(let worker): worker
    case .node(let slot): workers.count + slot
    case .http, .owner, .standby: nil
    }
  }
}

// MARK: What waits in the store

extension Services {
  /// Counts the parked events that an earlier process left in the store.
  func countParked() {
    do throws(StoreError) {
      context.parkedCounts.add(try StoreListing.parkedCounts(context).map { (plugin: $0.key, change: $0.value) })
    } catch {
      context.log.write(LogLine(.error, "the parked events in the store can't all be counted: \(error)"))
    }
  }

  /// Counts the timers that an earlier process left in the store.
  func countTimers() {
    do throws(StoreError) {
      context.waitingTimers.store(try StoreListing.timerCount(context), ordering: .relaxed)
    } catch {
      context.log.write(LogLine(.error, "the timers in the store can't all be counted: \(error)"))
    }
  }

  /// Counts the messages that an earlier process left in the store, and has the workers apply them.
  func resumeMessages() {
    var counts = Array(repeating: [String: Int](), count: workers.count)
    var last: UInt64 = 0
    do throws(StoreError) {
      try StoreListing.forEachMessage(context) { subject, sequence, plugin in
        counts[owner(of: subject)][plugin, default: 0] += 1
        last = max(last, sequence)
      }
    } catch {
      context.log.write(LogLine(.error, "the messages that wait in the store can't all be counted: \(error)"))
    }
    context.advanceSequence(to: last)
    for (worker, counts) in zip(workers, counts) {
      let found = counts.map { (sender: context.senders[$0.key], count: $0.value) }
      worker.send(.perform { $0.inbox.begin(found) })
    }
  }

  /// How many messages wait in the store, `mostStored` at most: where other nodes apply some, nobody else knows; nil where this daemon applies all.
  private var storedMessages: Int? {
    guard let lending, !lending.isAllHere else { return nil }
    var count = 0
    try? context.store.scan(prefix: StoreKey.prefix(.message)) { _, _ in
      count += 1
      return count < Self.mostStored
    }
    return count
  }

  private static var mostStored: Int { 100_000 }

  /// The state of the messages.
  var messages: MessageStatus {
    messageStatus(
      waiting: storedMessages ?? context.senders.summary.waiting,
      damaged: context.damagedMessages.load(ordering: .relaxed))
  }

  /// What is wrong with the messages that this daemon applies, and with those that are parked, a sentence each.
  var messageProblems: [String] {
    messageStatus(waiting: 0, damaged: context.damagedMessages.load(ordering: .relaxed)).problems
  }

  /// What is wrong with the messages that this daemon applies, a sentence each.
  var applyingProblems: [String] { messageStatus(waiting: 0, damaged: 0).problems }

  private func messageStatus(waiting: Int, damaged: Int) -> MessageStatus {
    let held = figures.reduce(0) { $0 + $1.heldSubjects.load(ordering: .relaxed) }
    return MessageStatus(
      waiting: waiting, storming: context.senders.summary.storming, heldSubjects: held,
      heldHere: held - (elsewhere?.heldSubjects.load(ordering: .relaxed) ?? 0),
      areReadable: figures.allSatisfy { !$0.failsToRead.load(ordering: .relaxed) },
      damaged: damaged)
  }
}

/// The part of `health` about messages.
struct MessageStatus {
  /// How many messages are committed and not applied.
  let waiting: Int
  /// The plugins that have many messages waiting, or whose cascades came to a limit lately.
  let storming: [String]
  /// The number of subjects whose messages are held, as one could not be applied.
  let heldSubjects: Int
  /// How many of them this daemon evaluates; for those of other nodes, these say what is wrong.
  let heldHere: Int
  /// Whether the messages in the store can be read.
  let areReadable: Bool
  /// How many messages were parked since the start because they could not be read.
  let damaged: Int

  /// What is wrong, one sentence each.
  var problems: [String] {
    var found = storming.map { "the plugin \($0) storms: its messages cause ever more, or more than can be applied" }
    if heldHere > 0 {
      found.append("messages of \(heldHere) subjects can't be applied, as the log says; they are tried again")
    }
    if !areReadable { found.append("messages can't be read from the store, as the log says; that is tried again") }
    if damaged > 0 {
      found.append("\(damaged) messages were damaged and are kept among the parked events, without a plugin")
    }
    return found
  }

  /// The member `messages` of `health`.
  var json: JSONValue {
    .object([
      "waiting": .integer(Int64(waiting)), "storming": .array(storming.map { .string($0) }),
      "held_subjects": .integer(Int64(heldSubjects)), "damaged": .integer(Int64(damaged)),
    ])
  }
}
