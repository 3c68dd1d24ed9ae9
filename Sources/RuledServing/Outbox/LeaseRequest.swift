import RuledCore
import RuledWire

/// A request for effects to deliver.
final class LeaseRequest {
  let params: LeaseParams
  let caller: ControlCaller
  /// Until when the reply may wait for a first effect, in the loop's milliseconds.
  var waitEnd: UInt64
  /// What the reply will hold.
  var granted: [JSONValue] = []
  /// How many handlers are still to end.
  var pending = 0
  /// How many bytes the effects have.
  var bytes = 0

  /// A request that has nothing yet.
  init(_ params: LeaseParams, _ caller: ControlCaller, waitEnd: UInt64) {
    self.params = params
    self.caller = caller
    self.waitEnd = waitEnd
  }

  /// Whether another effect has room.
  var hasRoom: Bool { granted.count + pending < params.limit && bytes < Limits.leaseBytes }
}
