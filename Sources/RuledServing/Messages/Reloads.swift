import RuledCore
import RuledEngine
import RuledIO
import RuledThreads
import RuledWire

/// The other threads' side of the loader: here they ask for loads of rules, and here clients wait for these.
///
/// A request that comes during a load starts one more load afterwards. So a client's load always includes the files that the client wrote before it
/// asked.
final class Reloads: Sendable {
  enum Request: Sendable {
    /// Load the rules: the folder has changed.
    case folder
    /// Load the rules: a client has asked for it.
    case client
    /// Read the configuration, then load the rules.
    case configuration
    case task(RulesTask, ControlCaller)
    /// Build Lua VMs ahead: one of them was taken.
    case machines
    case end
  }

  let requests = Mailbox<Request>()
  private let condition = Condition()
  private nonisolated(unsafe) var state = State()  // guarded by `condition`

  private struct State {
    /// The clients whose load has not begun.
    var waiting: [ControlCaller] = []
    /// The clients that the present load will answer.
    var served: [ControlCaller] = []
    var stage = Stage.starting
    /// The rules that the daemon starts with, once they are loaded.
    var first: Result<Catalog, StartError>?
    var usesStore = false
  }

  private enum Stage: Int, Comparable {
    case starting, serving, ending, refusing, closed

    static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// The reply to a client that waits for rules when the daemon ends.
  static let ending = RequestError(
    .unavailable, "the daemon is ending; it loads the rules as they stand in the folder when it starts again")

  // MARK: Requests

  func request(_ request: Request) { requests.send(request) }

  /// Loads the rules for a client, which then gets a reply; false when it is too late for that.
  func add(_ caller: ControlCaller) -> Bool {
    let isAdded = condition.locked {
      guard state.stage < .refusing else { return false }
      state.waiting.append(caller)
      return true
    }
    if isAdded { request(.client) }
    return isAdded
  }

  // MARK: The daemon's life

  func awaitFirst() throws(StartError) -> Catalog { try condition.wait { state.first }.get() }

  /// The daemon serves: from now on the loader executes requests.
  func serve() { advance(to: .serving) }

  /// The daemon begins to end: the loader ignores changes of the folder and the configuration from now on, but still answers clients.
  func end() { advance(to: .ending) }

  /// Accepts no more clients.
  ///
  /// Returns the waiting ones.
  func refuse() -> [ControlCaller] {
    advance(to: .refusing)
    return condition.locked {
      defer { (state.waiting, state.served) = ([], []) }
      return state.served + state.waiting
    }
  }

  /// Ends the thread, and waits until it no longer uses the store.
  ///
  /// A load that is under way is left to the end of the process.
  func close() {
    advance(to: .closed)
    request(.end)
    condition.wait { state.usesStore ? nil : () }
  }

  private func advance(to next: Stage) { condition.signal { state.stage = max(state.stage, next) } }

  // MARK: The loader's side

  /// Passes on the rules that the daemon starts with, or why it can't start, and waits until it serves.
  func finishStart(_ result: Result<Catalog, StartError>) {
    condition.signal { state.first = result }
    condition.wait { state.stage >= .serving ? () : nil }
  }

  var isServing: Bool { condition.locked { state.stage >= .serving } }
  var isEnding: Bool { condition.locked { state.stage >= .ending } }

  /// Begins a load, which will answer the clients that have asked so far; true if there is one.
  func beginLoad() -> Bool {
    condition.locked {
      state.served += state.waiting
      state.waiting = []
      return !state.served.isEmpty
    }
  }

  /// Ends a load.
  ///
  /// Returns the clients that it answers.
  func endLoad() -> [ControlCaller] {
    condition.locked {
      defer { state.served = [] }
      return state.served
    }
  }

  /// Runs `body`, which may use the store: it stays open meanwhile.
  ///
  /// Does nothing once the store may be closed.
  func withStore(_ body: () -> Void) {
    let mayUse = condition.locked {
      state.usesStore = state.stage < .closed
      return state.usesStore
    }
    guard mayUse else { return }
    body()
    condition.signal { state.usesStore = false }
  }
}

/// A method that the loader's thread executes, as it concerns the rules in force.
enum RulesTask: Sendable {
  case revisions
  case revision(String)
  /// Put an earlier revision in force, the one before if none is named, and pin it.
  case rollback(String?)
  case unpin
  /// Put the rules of another node's folder in force.
  case folder(of: String)
  case rolloutStart(RolloutStartParams)
  /// Change the share, in percent.
  case rolloutSet(Double)
  case rolloutStatus
  case rolloutPromote
  case rolloutAbort
  case shadowStart(ShadowStartParams)
  case shadowStatus
  case shadowStop
}
