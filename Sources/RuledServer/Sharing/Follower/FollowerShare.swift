import Glibc
import RuledCore
import RuledEngine
import RuledLua
import RuledPeers
import RuledStore
import RuledThreads

/// Has a node evaluate for the owner of the log as long as it follows: keeps a session with the owner, on a thread of its own.
final class FollowerShare: Sendable {
  /// The way to an owner.
  struct Route: Sendable {
    /// The owner's name.
    let owner: String
    /// Tells two routes apart.
    let id: ObjectIdentifier
    /// Whether the owner can be reached.
    let isUp: @Sendable () -> Bool
    /// Connects to the owner; the closure gets the connection, or why there is none, on any thread.
    let open: @Sendable (@escaping @Sendable (Result<any ShareSocket, Refusal>) -> Void) -> Void

    typealias Refusal = PeerLink.Refusal

    /// A route.
    init(
      owner: String, id: ObjectIdentifier, isUp: @escaping @Sendable () -> Bool = { true },
      open: @escaping @Sendable (@escaping @Sendable (Result<any ShareSocket, Refusal>) -> Void) -> Void
    ) {
      self.owner = owner
      self.id = id
      self.isUp = isUp
      self.open = open
    }

    /// The route over a link.
    init(_ link: PeerLink) {
      self.init(owner: link.node, id: ObjectIdentifier(link), isUp: { link.isUp }) { done in
        link.handOver(for: PeerClient(.share)) { done($0.map { $0 }) }
      }
    }
  }

  /// What the thread is to do.
  private struct State {
    var route: Route?
    var isStopping = false
    /// Where the present session gets its messages.
    var session: Mailbox<ShareSession.Message>?
    /// What the present session evaluates.
    var shares: Shares?
  }

  /// The waits in milliseconds between two sessions.
  private static let backoff = Backoff(first: 100, longest: 1_000)

  private let node: EvaluatingNode
  private let lock = Condition()
  private nonisolated(unsafe) var state = State()  // guarded by `lock`

  /// A share of a node that follows.
  init(_ node: EvaluatingNode) { self.node = node }

  // MARK: From other threads

  /// Starts the thread.
  func start() throws(SystemError) -> Thread { try Thread.start(name: "ruled-share") { [self] in run() } }

  /// Evaluates for the owner at the end of that route from now on, for nobody if it is nil.
  func use(_ route: Route?) {
    let former: Mailbox<ShareSession.Message>? = lock.locked {
      guard state.route?.id != route?.id else { return nil }
      state.route = route
      defer { state.session = nil }
      return state.session
    }
    former?.send(.end(route == nil ? "this node takes no part at present" : "another node owns the log of commits"))
    lock.wakeAll()
  }

  /// Evaluates for nobody from now on, once the owner has taken back what it has lent.
  func leave() {
    let session = lock.locked {
      defer { state.route = nil }
      return state.route == nil ? nil : state.session
    }
    session?.send(.leave)
  }

  /// Ends the session and the thread.
  func stop() {
    let session = lock.locked {
      state.isStopping = true
      return state.session
    }
    session?.send(.end("this node stops following"))
    lock.wakeAll()
  }

  /// Whether a session with an owner has begun and not ended.
  var isServing: Bool { lock.locked { state.session != nil } }

  /// What is known to be wrong with what this node and others evaluate.
  var problems: KnownProblems { node.problems }

  /// For how many partitions of the subjects the node evaluates.
  var partitions: Int { lock.locked { state.shares }?.own ?? 0 }

  // MARK: The thread

  /// How a session ended.
  private struct End {
    var reason: String
    /// Whether the owner had accepted the node.
    var wasAccepted = false
  }

  private func run() {
    let lua = LuaWorker()
    var catalog: Catalog?
    var failures = 0
    var told = ""
    while let route = awaitRoute() {
      var end = End(reason: "")  // there is nothing to tell of an owner that is just starting
      do {
        if route.isUp(), let rules = try loadRules(after: catalog, lua) {
          catalog = rules
          end = try serve(route, rules)
        }
      } catch { end.reason = "\(error)" }
      failures = end.wasAccepted || end.reason.isEmpty ? 1 : failures + 1
      if end.wasAccepted {
        node.log.write(LogLine(.info, "this node evaluates no longer for node \(route.owner): \(end.reason)"))
      } else if !end.reason.isEmpty, told != end.reason {
        node.log.write(LogLine(.info, "this node can't evaluate for node \(route.owner): \(end.reason)"))
      }
      if end.wasAccepted || !end.reason.isEmpty { told = end.wasAccepted ? "" : end.reason }
      let _: Void? = lock.wait(milliseconds: Int(Self.backoff.delay(after: failures))) {
        state.isStopping ? () : nil
      }
    }
  }

  /// Waits for a route; nil once the thread is to end.
  private func awaitRoute() -> Route? {
    lock.wait { () -> Route?? in
      if state.isStopping { return .some(nil) }
      return state.route.map { .some($0) }
    }
  }

  /// The rules in force, built for this node's workers; nil before the first.
  private func loadRules(after previous: Catalog?, _ lua: LuaWorker) throws -> Catalog? {
    guard let live = try LiveRules.read(from: node.playback.store) else { return nil }
    let threads = CatalogBuilder.Threads(node.workers)
    if let previous, previous.revision == live.entry.revision {
      CatalogBuilder.prepare(previous, worker: lua, for: threads)
      return previous
    }
    let catalog = try CatalogBuilder.build(
      live.rules, configuration: live.configuration, previous: previous, worker: lua, for: threads,
      now: EngineClock.wall)
    guard catalog.revision == live.entry.revision else {
      throw StartError("revision \(live.entry.revision) of the rules is revision \(catalog.revision) here")
    }
    return catalog
  }

  /// Serves one session.
  private func serve(_ route: Route, _ catalog: Catalog) throws -> End {
    let mailbox = Mailbox<ShareSession.Message>()
    let isWanted = lock.locked {
      guard !state.isStopping, state.route?.id == route.id else { return false }
      state.session = mailbox
      return true
    }
    guard isWanted else { return End(reason: "the owner of the log has changed") }
    defer { lock.locked { state.session = nil } }
    let loop = try EventLoop()
    let session = try ShareSession(node, catalog, with: route.owner, on: loop, mailbox: mailbox)
    lock.locked { state.shares = session.shares }
    defer { lock.locked { state.shares = nil } }
    route.open { result in
      switch result {
      case .success(let socket): mailbox.send(.connected(socket))
      case .failure(let refusal): mailbox.send(.end(refusal.reason))
      }
    }
    let reason = session.run()
    loop.close()
    return End(reason: reason, wasAccepted: session.engine != nil)
  }
}
