import RuledCore
import RuledEngine
import RuledWire

/// What the control thread is asked.
enum ControlMessage: Sendable {
  /// A client asks for something that concerns all workers.
  case task(ControlTask, id: [UInt8]?, ReplyTarget)
  /// A timer was set that is due at this time, in microseconds.
  case timerSet(Int64)
  /// The store takes commits again.
  case storeReopened
  /// Something that was waited for is over.
  case perform(@Sendable (Control) -> Void)
}

/// What a client may ask of the control thread.
enum ControlTask: Sendable {
  /// Load the rules anew.
  case reload
  /// Try parked events again.
  case retry(ParkedSelection)
  /// Give parked events up.
  case drop(ParkedSelection)
  /// Set or advance the manual clock.
  case clock(ClockParams)
}
