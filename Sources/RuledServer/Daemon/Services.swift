import RuledCore
package import RuledEngine
import RuledStore
import Synchronization

/// What the threads of a daemon share.
package final class Services: Sendable {
  /// The engine's shared part.
  package let context: EngineContext
  /// Where each worker gets what the others want of it.
  let workers: [Mailbox<WorkerMessage>]
  /// Each worker's offer to stand in for it.
  let loans: [WorkerLoan]
  /// What makes batches durable.
  let commits: CommitPipeline
  /// Where the control thread gets what only it can do.
  let control = Mailbox<ControlMessage>()
  /// Who waits for the rules to be loaded anew.
  let reloads = Reloads()
  /// Where the effects go that were recorded for sinks.
  package let outbox = Outbox()
  /// How the daemon is.
  package let status = DaemonStatus()
  /// What each worker counts.
  let figures: [WorkerFigures]
  /// The server for clients that speak HTTP, while there is one.
  let http = Mutex<HTTPServer?>(nil)
  /// The last changes, for watchers.
  let hub: WatchHub
  /// How many requests have been taken and not answered.
  let inFlight = Atomic<Int>(0)
  /// What lines that are not whole take over all workers.
  let lineMemory: LineMemory
  /// How many connections are open, or accepted and on their way to a worker.
  let connections = Atomic<Int>(0)
  /// How many there may be: what is configured, or what the descriptors of the process leave room for.
  let connectionLimit: Int
  /// Where systemd hears how the daemon fares.
  let notifier: SystemdNotifier
  private let current: Mutex<(configuration: Configuration, admins: Administrators)>
  private let adoptions = Atomic<Int>(1)

  init(
    context: EngineContext, workers count: Int, notifier: SystemdNotifier = .silent, connectionLimit: Int? = nil
  ) {
    self.connectionLimit = connectionLimit ?? context.configuration.limits.connections
    self.context = context
    self.notifier = notifier
    workers = (0..<count).map { _ in Mailbox<WorkerMessage>() }
    loans = (0..<count).map { _ in WorkerLoan() }
    hub = WatchHub(spare: context.changeLogs)
    commits = CommitPipeline(context: context, hub: hub, workers: workers)
    lineMemory = LineMemory(max(Limits.lineBytes, 4 * context.configuration.limits.requestBytes))
    figures = (0..<count).map { _ in WorkerFigures() }
    current = Mutex((context.configuration, Administrators(context.configuration.admins)))
  }

  /// What is configured now: as at the start, but for what a reload could change.
  var configuration: Configuration { current.withLock { $0.configuration } }

  /// Who may administrate now.
  var admins: Administrators { current.withLock { $0.admins } }

  /// Counts the configurations that there have been.
  var generation: Int { adoptions.load(ordering: .relaxed) }

  /// Lets what may change at run time be as another configuration says.
  func adopt(_ next: Configuration) {
    context.adopt(next)
    current.withLock { current in
      current.configuration.plugins = next.plugins
      current.configuration.sinks = next.sinks
      current.configuration.admins = next.admins
      current.configuration.dedupWindow = next.dedupWindow
      current.configuration.limits.stateKiB = next.limits.stateKiB
      current.configuration.limits.counters = next.limits.counters
      current.admins = Administrators(next.admins)
    }
    adoptions.wrappingAdd(1, ordering: .relaxed)
  }

  /// Tells systemd how the daemon is.
  func notifyStatus() { notifier.status(status.line) }

  /// Hands replies to the thread that has the connections.
  func send(_ bundle: ReplyBundle, to worker: Int) {
    guard worker == HTTPServer.worker else {
      _ = workers[worker].send(.replies(bundle))
      return
    }
    guard let server = http.withLock({ $0 }) else { return }
    bundle.handOut { server.take($0, for: $1) }
  }

  /// The worker whose subject that is.
  func owner(of subject: UnsafeRawBufferPointer) -> Int { owner(ofHash: hash64(subject, seed: 0)) }

  /// The worker whose subject has a name with that hash.
  func owner(ofHash hash: UInt64) -> Int {
    workers.count == 1 ? 0 : Int(truncatingIfNeeded: hash >> 33) % workers.count
  }

  /// The worker whose subject that is.
  func owner(of subject: [UInt8]) -> Int { subject.withUnsafeBytes { owner(of: $0) } }
}
