import Glibc
import RuledCore
import RuledEngine
import RuledIO
import RuledPeers
import RuledStore
import RuledThreads
import RuledWire
import Synchronization

/// The thread that does what concerns all workers: it accepts connections, fires timers, sets the clock, and begins the shutdown.
final class Control {
  let services: Services
  let loop: EventLoop
  let timers: TimerService
  private var listeners: [Listener] = []
  private var signals: DescriptorPoll?
  private var nextWorker = 0
  private var watchdog: Watchdog?
  private var sampling: LoopTimer?
  private let onStop: (StopReason) -> Void
  private let replyBuffer = ByteBuffer(capacity: 1024)

  /// Why the daemon stops to serve.
  enum StopReason {
    /// A signal asks it to end.
    case signal
    /// The node of a cluster lost the log of commits, or is to give it up.
    case ownership
  }

  /// A control thread on `loop`, which calls `onStop` when the daemon is to stop; more than once where both reasons come.
  init(services: Services, loop: EventLoop, onStop: @escaping (StopReason) -> Void) throws(SystemError) {
    self.services = services
    self.loop = loop
    self.onStop = onStop
    timers = try TimerService(services: services, loop: loop)
  }

  /// Begins to fire timers and to answer signals.
  func start(_ signals: ProcessSignals) throws(SystemError) {
    try services.control.attach(to: loop) { [unowned self] messages in
      for message in messages { receive(message) }
    }
    self.signals = try signals.attach(to: loop) { [unowned self] signal in
      signal == .hangUp ? services.reloads.request(.configuration) : onStop(.signal)
    }
    timers.start()
    watchdog = try Watchdog(on: loop, services)
    sampling = try loop.timer(after: LoadHistory.period, every: LoadHistory.period) { [unowned self] in
      services.load.sample(LoadTotals(services), at: EngineClock.wall)
    }
  }

  /// Begins to serve on a Unix socket.
  func listen(_ socket: consuming ListeningSocket) throws(SystemError) {
    listeners.append(try Listener(on: loop, socket) { [unowned self] in assign($0) })
  }

  /// Begins to serve HTTP on a TCP socket: the plugins' sites alone `forSites`, else the API too.
  func listen(_ socket: consuming ListeningSocket, forSites: Bool) throws(SystemError) {
    listeners.append(
      try Listener(on: loop, socket) { [unowned self] in services.adoptHTTP($0, from: .client(isVisitor: forSites)) })
  }

  /// Accepts no more connections and fires no more timers.
  func stopAccepting() {
    for listener in listeners { listener.stop() }
    listeners = []
    timers.stop()
  }

  /// Begins the shutdown of a node that does not own the log any more.
  func end() { onStop(.ownership) }

  /// Closes what is open on the loop.
  func close() {
    signals?.close()
    watchdog?.close()
    sampling?.close()
    timers.close()
    services.control.close()
  }

  // MARK: Connections

  /// Takes over a socket that speaks for the client of another node.
  func adopt(_ descriptor: Int32, for client: PeerClient, of node: String) {
    switch client.listener {
    case .lines:
      assign(descriptor, for: CarriedClient(node: node, isAdmin: client.isAdmin, isCourier: client.isCourier))
    case .web: services.adoptHTTP(descriptor, from: .node(node, isAdmin: client.isAdmin))
    case .api: services.adoptHTTP(descriptor, from: .nodeWithoutCredentials(node, isVisitor: false))
    case .sites: services.adoptHTTP(descriptor, from: .nodeWithoutCredentials(node, isVisitor: true))
    }
  }

  /// Passes a connection to the next worker in turn; with `client`, another node has carried it here.
  private func assign(_ descriptor: Int32, for client: CarriedClient? = nil) {
    let worker = nextWorker
    nextWorker = (nextWorker + 1) % services.workers.count
    // Counted here, so that connections on their way to a worker take no descriptor that the store needs.
    guard let place = place(descriptor, client) else { return turnAway(descriptor, client) }
    if !services.workers[worker].send(.perform { $0.adopt(descriptor, at: place, for: client) }) {
      place.release()
      SystemCalls.close(descriptor)
    }
  }

  private func place(_ descriptor: Int32, _ client: CarriedClient?) -> ConnectionPlace? {
    if let client { return services.takePlace(services.places, for: .node(client.node), isAdmin: client.isAdmin) }
    let peer = PeerCredentials(of: descriptor)
    let isAdmin = peer.map { services.admins.include($0, groups: PeerCredentials.groups(of: descriptor)) } ?? false
    return services.takePlace(services.places, for: .user(peer?.uid ?? .max), isAdmin: isAdmin)
  }

  /// Turns a connection away for which there is no place, unless it is a probe's.
  private func turnAway(_ descriptor: Int32, _ client: CarriedClient?) {
    if client == nil, let server = services.http.withLock({ $0 }) { return server.adopt(descriptor, at: nil) }
    ReplySender.writeError(ProcessLimits.tooManyConnections, id: nil, isAlone: true, to: replyBuffer)
    _ = SystemCalls.send(descriptor, replyBuffer.bytes)
    SystemCalls.close(descriptor)
  }

  // MARK: Requests

  private func receive(_ message: ControlMessage) {
    switch message {
    case .task(let task, let caller): execute(task, for: caller)
    case .timerSet(let due): timers.set(due)
    case .rulesChanged: timers.set(.min)
    case .storeReopened:
      timers.retryHeld()
      timers.fireDue()
      services.outbox.scanStore()
    case .perform(let body): body(self)
    }
  }

  private func execute(_ task: ControlTask, for caller: ControlCaller) {
    switch task {
    case .reload: if !services.reloads.add(caller) { reply(.failure(Reloads.ending), to: caller) }
    case .retry(let selection): retry(selection, caller)
    case .drop(let selection): drop(selection, caller)
    case .clock(let params): setClock(params, caller)
    case .backup: backup(for: caller)
    case .release: release(for: caller)
    case .log(let params): log(params, for: caller)
    case .past(let params): past(params, for: caller)
    case .journal: bringJournalUpToDate(for: caller)
    case .backtest(let params): backtest(params, for: caller)
    case .cluster(let params): cluster(params, for: caller)
    }
  }

  /// Replies to a client through the thread that has its connection.
  func reply(_ result: Result<JSONValue, RequestError>, to caller: ControlCaller) {
    services.reply(result, to: caller, with: replyBuffer)
  }

  /// Replies with a result that is JSON text.
  func reply(text result: Result<[UInt8], RequestError>, to caller: ControlCaller) {
    services.reply(text: result, to: caller, with: replyBuffer)
  }
}

extension Services {
  /// Replies to a client of a thread that is no worker, through the thread that has its connection; `buffer` is overwritten.
  func reply(_ result: Result<JSONValue, RequestError>, to caller: ControlCaller, with buffer: ByteBuffer) {
    reply(to: caller, with: buffer, result) { $0.write(to: buffer) }
  }

  /// Likewise, where the result is JSON text.
  func reply(text result: Result<[UInt8], RequestError>, to caller: ControlCaller, with buffer: ByteBuffer) {
    reply(to: caller, with: buffer, result) { text in text.withView { buffer.append($0) } }
  }

  private func reply<Value>(
    to caller: ControlCaller, with buffer: ByteBuffer, _ result: Result<Value, RequestError>, _ write: (Value) -> Void
  ) {
    buffer.removeAll()
    if let id = caller.id {
      let isAlone = caller.target.batch == 0
      id.withView { id in
        switch result {
        case .success(let value):
          ReplyWriter.beginResult(id: id, to: buffer)
          write(value)
          ReplyWriter.endResult(to: buffer)
          if isAlone { ReplyWriter.endLine(to: buffer) }
        case .failure(let error): ReplySender.writeError(error, id: id, isAlone: isAlone, to: buffer)
        }
      }
    }
    var bundle = ReplyBundle()
    bundle.append(buffer.bytes, to: caller.target)
    send(bundle, to: caller.target.receiver)
  }
}

/// What the control thread is asked to do.
enum ControlMessage: Sendable {
  /// A client calls a method that concerns all workers.
  case task(ControlTask, ControlCaller)
  /// A timer was set that is due at this time, in microseconds.
  case timerSet(Int64)
  /// Other rules decide, for all subjects or for some, whose timers may have waited for their plugin.
  case rulesChanged
  /// The store takes commits again.
  case storeReopened
  /// Run a closure on the control thread.
  case perform(@Sendable (Control) -> Void)
}

/// A method that the control thread executes.
enum ControlTask: Sendable {
  /// Load the rules again.
  case reload
  /// Try parked events again.
  case retry(ParkedSelection)
  /// Drop parked events.
  case drop(ParkedSelection)
  /// Set or advance the manual clock.
  case clock(ClockParams)
  /// Make a checkpoint of the store for a backup.
  case backup
  /// Deliver the effects that are held back since a restore.
  case release
  /// List entries of the journal.
  case log(LogParams)
  /// Show the past of a subject.
  case past(PastParams)
  /// Bring what is committed into the journal's files.
  case journal
  /// Play the journal with other rules.
  case backtest(BacktestParams)
  /// Show the cluster, or drain a node of it.
  case cluster(ClusterParams)
}

/// A client that waits for a reply of the control thread, or of the outbox.
struct ControlCaller: Sendable {
  /// The request's id as JSON text, nil for a notification.
  let id: [UInt8]?
  /// Where the reply goes.
  let target: ReplyTarget
}
