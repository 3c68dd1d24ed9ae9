import Glibc
import RuledCore
import RuledEngine
import RuledThreads
import Synchronization

/// What other threads ask of the lending of subjects to other nodes; any thread may use it.
///
/// Who changes something for all subjects takes all of them back for that time.
final class Lending: Sendable {
  /// What the thread that lends is asked to do.
  enum Command: Sendable {
    /// A node wants to evaluate: its connection.
    case adopt(any ShareSocket)
    /// Somebody waits for all subjects to be here, or does not need that any more.
    case holdsChanged
    /// All workers have done what was asked of them.
    case stepDone
    /// Lend nothing more, end all connections, and end the thread.
    case end
  }

  /// A time in which all subjects are evaluated here: it ends with the object.
  final class Hold: Sendable {
    private let lending: Lending

    fileprivate init(_ lending: Lending) { self.lending = lending }

    deinit { lending.endHold() }
  }

  private struct State {
    var holds = 0
    /// Whether nothing is lent, nor on its way.
    var isAllHere = true
    var waiting: [@Sendable () -> Void] = []
    var overview = Overview()
    var health: [(node: String, health: ShareHealth)] = []
  }

  /// What is lent.
  struct Overview: Sendable, Equatable {
    /// How many partitions each other node evaluates.
    var nodes: [String: Int] = [:]
    /// The nodes by the receivers that stand for them in `Shares`.
    var names: [Int: String] = [:]
    /// How often partitions have moved.
    var moves = 0

    /// Whether each other node evaluates as many partitions as this one, give or take those that are left over.
    var isEven: Bool { nodes.values.allSatisfy { $0 == Partition.count / (nodes.count + 1) } }
  }

  /// Where the thread gets its commands.
  let commands = Mailbox<Command>()
  private let state = Mutex(State())

  /// The number of batches of the log that this node has.
  let position: @Sendable () -> Int64
  /// How long this node's lease still lasts, in milliseconds.
  let leaseLeft: @Sendable () -> Int

  /// Nothing is lent.
  init(position: @escaping @Sendable () -> Int64, leaseLeft: @escaping @Sendable () -> Int) {
    self.position = position
    self.leaseLeft = leaseLeft
  }

  // MARK: For other threads

  /// What is lent now.
  var overview: Overview { state.withLock { $0.overview } }

  /// What is wrong with what other nodes evaluate.
  var health: [(node: String, health: ShareHealth)] { state.withLock { $0.health } }

  /// Whether this node evaluates for all subjects, and nothing is on its way.
  var isAllHere: Bool { state.withLock { $0.isAllHere } }

  /// Takes over the connection of a node that wants to evaluate.
  func adopt(_ socket: any ShareSocket) { _ = commands.send(.adopt(socket)) }

  /// Takes all subjects back, and calls `body` once they are here, on any thread; they stay as long as somebody keeps the hold.
  func takeBack(then body: @escaping @Sendable (Hold) -> Void) {
    let hold = Hold(self)
    let isAllHere = state.withLock { state in
      state.holds += 1
      if !state.isAllHere { state.waiting.append { body(hold) } }
      return state.isAllHere
    }
    if isAllHere { return body(hold) }
    if !commands.send(.holdsChanged) { noteAllHere() }
  }

  /// Takes all subjects back, and waits until they are here.
  func takeBackAndWait() -> Hold {
    let lock = Condition()
    let found = Mutex<Hold?>(nil)
    takeBack { hold in lock.signal { found.withLock { $0 = hold } } }
    return lock.wait { found.withLock { $0 } }
  }

  /// How long `rebalance` waits for the nodes to have their shares, in milliseconds.
  private static let rebalancing = 3_000

  /// Takes all subjects back and lets them be shared out anew; waits until the nodes have their shares, or for some seconds.
  func rebalance() {
    do { _ = takeBackAndWait() }
    let end = EngineClock.monotonic + UInt64(Self.rebalancing) * 1_000_000
    while !overview.isEven, EngineClock.monotonic < end { usleep(10_000) }
  }

  private func endHold() {
    state.withLock { $0.holds -= 1 }
    _ = commands.send(.holdsChanged)
  }

  // MARK: For the thread that lends

  /// Whether somebody needs all subjects here.
  var isHeld: Bool { state.withLock { $0.holds > 0 } }

  /// Notes that something is about to be lent; false if somebody needs all subjects here.
  func beginLending() -> Bool {
    state.withLock { state in
      guard state.holds == 0 else { return false }
      state.isAllHere = false
      return true
    }
  }

  /// Notes that all subjects are here, and lets those go on who wait for that.
  func noteAllHere() {
    let waiting = state.withLock { state in
      state.isAllHere = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for body in waiting { body() }
  }

  /// Publishes what is lent.
  func publish(_ overview: Overview) { state.withLock { $0.overview = overview } }

  /// Publishes what is wrong with what other nodes evaluate.
  func publish(_ health: [(node: String, health: ShareHealth)]) { state.withLock { $0.health = health } }
}

extension Services {
  /// Calls `body` while all subjects are evaluated by this daemon, on any thread: at once where nothing is lent.
  func withAllSubjects(_ body: @escaping @Sendable (Lending.Hold?) -> Void) {
    if let lending { lending.takeBack(then: body) } else { body(nil) }
  }
}
