import RuledCore
import RuledEngine
import RuledIO
import RuledThreads
import RuledWire

enum ControlMessage: Sendable {
  case task(ControlTask, ControlCaller)
  /// A timer was set that is due at this time, in microseconds.
  case timerSet(Int64)
  /// Other rules decide, for all subjects or for some, whose timers may have waited for their plugin.
  case rulesChanged
  case storeReopened
  /// Try a timer again later that could not fire.
  case retryTimer(DueTimer, after: RequestError)
  case timersFired([DueTimer])
  /// Go on with moving the manual clock to a time; in the end it shows `end`.
  case moveClock(ClockMove, to: Timestamp, then: Timestamp, ControlCaller, ClientEnd)
  /// Take over a socket on which another node has carried a client here.
  case adopt(Int32, for: ClientAccess)
  case stop(StopReason)
}

/// A method that the control thread executes.
enum ControlTask: Sendable {
  case reload
  case retry(ParkedSelection)
  case drop(ParkedSelection)
  case clock(ClockParams)
  /// Make a checkpoint of the store for a backup.
  case backup
  /// Deliver the effects held back since a restore.
  case release
  case log(LogParams)
  case past(PastParams)
  /// Bring all commits into the journal's files.
  case journal
  case backtest(BacktestParams)
  case cluster(ClusterParams)
}

enum StopReason {
  case signal
  /// The node of a cluster lost the log of commits, or is to give it up.
  case ownership
  /// All received requests are answered.
  case drained
}

/// Whether the client of a long task has gone.
typealias ClientEnd = Shared<Bool>
