import RuledCore
import RuledEngine
import RuledThreads

/// The other threads' side of the loader: they ask for rules to be loaded anew here, and clients that asked are kept until they are answered.
///
/// Whatever is asked while rules are being loaded is done by one more load that begins afterwards, so that what a client wrote before it asked is
/// always in the load that answers it.
final class Reloads: Sendable {
  /// What the loader is asked.
  enum Request: Sendable {
    /// The rules folder has changed.
    case folder
    /// A client wants the rules to be loaded.
    case client
    /// Read the configuration, then load the rules.
    case configuration
    /// A machine that had been built ahead was taken.
    case machines
    /// End the thread.
    case end
  }

  /// A client that waits for an answer.
  struct Caller: Sendable {
    /// The request's id, nil for a notification.
    let id: [UInt8]?
    /// Where the answer goes.
    let target: ReplyTarget
  }

  /// Where the loader gets its requests.
  let requests = Mailbox<Request>()
  /// Guards what follows.
  private let condition = Condition()
  /// Clients whose load has not begun.
  private nonisolated(unsafe) var waiting: [Caller] = []
  /// Clients that the load under way will answer.
  private nonisolated(unsafe) var served: [Caller] = []
  private nonisolated(unsafe) var stage = Stage.starting
  private nonisolated(unsafe) var first: Result<Catalog, StartError>?
  private nonisolated(unsafe) var usesStore = false

  /// How far the daemon is.
  private enum Stage: Int, Comparable {
    case starting, serving, ending, refusing, closed

    static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// The answer to a client that waits for rules when the daemon ends.
  static let ending = RequestError(
    .unavailable, "the daemon is ending; it loads the rules as they stand in the folder when it starts again")

  // MARK: Asking

  /// Asks for something that no client waits for.
  func ask(_ request: Request) { requests.send(request) }

  /// Has a client wait for rules to be loaded; false when nobody is let wait any more.
  func wait(_ caller: Caller) -> Bool {
    let isTaken = condition.locked {
      guard stage < .refusing else { return false }
      waiting.append(caller)
      return true
    }
    if isTaken { ask(.client) }
    return isTaken
  }

  // MARK: The daemon's life

  /// Waits for the rules that the daemon starts with.
  func awaitFirst() throws(StartError) -> Catalog { try condition.wait { first }.get() }

  /// The daemon serves: changes of the folder and requests are looked at from now on.
  func serve() { advance(to: .serving) }

  /// The daemon is about to end: the folder and the configuration are left alone, and clients are still answered.
  func end() { advance(to: .ending) }

  /// Lets nobody wait any longer; gives the clients that did.
  func refuse() -> [Caller] {
    advance(to: .refusing)
    return condition.locked {
      defer { (waiting, served) = ([], []) }
      return served + waiting
    }
  }

  /// Ends the thread unless it is loading, in which case it is left to the end of the process; it does not touch the store afterwards.
  func close() {
    advance(to: .closed)
    ask(.end)
    condition.wait { usesStore ? nil : () }
  }

  private func advance(to next: Stage) { condition.signal { stage = max(stage, next) } }

  // MARK: The loader's side

  /// Gives the rules that the daemon starts with, or why it can't start, and waits until it serves.
  func started(_ result: Result<Catalog, StartError>) {
    condition.signal { first = result }
    condition.wait { stage >= .serving ? () : nil }
  }

  /// Whether the daemon has begun to end.
  var isEnding: Bool { condition.locked { stage >= .ending } }

  /// A load begins, which answers whoever has asked so far; says whether a client has.
  func begin() -> Bool {
    condition.locked {
      served += waiting
      waiting = []
      return !served.isEmpty
    }
  }

  /// The load has ended; gives those whom it answers.
  func finish() -> [Caller] {
    condition.locked {
      defer { served = [] }
      return served
    }
  }

  /// Uses the store, which stays open until `body` ends; does nothing once it may have been closed.
  func withStore(_ body: () -> Void) {
    let mayUse = condition.locked {
      usesStore = stage < .closed
      return usesStore
    }
    guard mayUse else { return }
    body()
    condition.signal { usesStore = false }
  }
}
