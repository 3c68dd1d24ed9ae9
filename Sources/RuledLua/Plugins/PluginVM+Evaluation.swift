package import CLuaBridge
import RuledCore

/// How a call into a plugin ended.
package enum CallResult {
  /// It ran.
  case done
  /// The rule's `when` was false.
  case skipped
  /// It failed; `failure(rule:)` tells why.
  case failed
}

/// How far an event came that was shown to rules at once.
package enum TurnResult {
  /// All rules ran, and the state is encoded in `output`.
  case ended
  /// A rule raised something; so many rules are done, and the others and `finish` are left.
  case raised(done: Int)
  /// It failed, in a rule or around them; `failure(rule:)` tells why.
  case failed(rule: Int?)
}

extension PluginVM {
  /// Makes the event the machine's current one, runs the rules in order and encodes the state, in at most `stateLimit` bytes.
  ///
  /// With `attempt` instructions may go uncounted; when all of the event is done, `settle` must then be asked whether it counts.
  package func run(
    _ event: inout rb_event, budget: Budget, rules: [Int], stateLimit: Int, attempt: Bool
  ) -> TurnResult {
    var native = budget.native
    drawn = 0
    return rules.withUnsafeBufferPointer { rules in
      var turn = rb_turn()
      turn.rules = rules.baseAddress
      turn.count = rules.count
      turn.state_limit = stateLimit
      guard rb_run(machine, &event, &native, attempt, &turn) == RB_OK else {
        return .failed(rule: turn.rule >= 0 ? Int(turn.rule) : nil)
      }
      return turn.ended ? .ended : .raised(done: turn.next)
    }
  }

  /// Ends an attempt, however it came out.
  ///
  /// False when more instructions than the budget's can have run: the attempt is then void, and the event must run again, counted.
  package func settle() -> Bool { rb_settle(machine) }

  /// Makes the event the machine's current one, with the plugin's state for its subject.
  package func begin(_ event: inout rb_event, budget: Budget) -> CallResult {
    var native = budget.native
    drawn = 0
    return result(rb_begin(machine, &event, &native))
  }

  /// Makes an event the current one that a rule of this plugin raised, keeping the state as it stands.
  package func beginRaised(type: UnsafeRawBufferPointer, document: OpaquePointer, data: Int) -> CallResult {
    result(rb_begin_raised(machine, rb_slice(type), document, data, nil, 0, rb_slice()))
  }

  /// Makes an event the current one that another plugin raised during the same commit; a new budget starts.
  package func beginRaised(
    type: UnsafeRawBufferPointer, document: OpaquePointer, data: Int, budget: Budget, depth: Int,
    chain: UnsafeRawBufferPointer
  ) -> CallResult {
    var native = budget.native
    return result(
      rb_begin_raised(machine, rb_slice(type), document, data, &native, Int32(depth), rb_slice(chain)))
  }

  /// Ends the event that `beginRaised` began.
  package func endRaised() { rb_end_raised(machine) }

  /// Runs the rule of that index on the current event.
  package func run(rule: Int) -> CallResult { result(rb_run_rule(machine, Int32(rule))) }

  /// Encodes the state, which `output` then holds; fails when it can't be stored or is larger than `limit` bytes.
  package func finish(limit: Int) -> CallResult { result(rb_finish(machine, limit)) }

  /// Answers the query of that index with `output`; `arguments` is a place in the document, 0 for none.
  package func query(_ index: Int, document: OpaquePointer?, arguments: Int) -> CallResult {
    result(rb_query(machine, Int32(index), document, arguments))
  }

  /// Calls a `web` handler with the request as JSON; `output` holds an array of its results.
  package func web(_ index: Int, request: UnsafeRawBufferPointer) -> CallResult {
    result(rb_handle(machine, RB_DECLARE_WEB, Int32(index), rb_slice(request)))
  }

  /// Calls a `sink` handler with the effect as JSON; `output` holds an array of its results.
  package func sink(_ index: Int, effect: UnsafeRawBufferPointer) -> CallResult {
    result(rb_handle(machine, RB_DECLARE_SINK, Int32(index), rb_slice(effect)))
  }

  /// Runs the test of that index.
  package func test(_ index: Int) -> CallResult {
    var native = Budget.test.native
    return result(rb_test(machine, Int32(index), &native))
  }

  /// What the last call left, the state or what was returned; valid until the next call.
  package var output: UnsafeRawBufferPointer { rb_result(machine).raw }

  /// The operations that rules asked for since `begin`; valid until the next call.
  package var operations: UnsafeBufferPointer<rb_op> {
    var count = 0
    let first = rb_ops(machine, &count)
    return UnsafeBufferPointer(start: first, count: count)
  }

  /// Marks the operations that later ones of the event undo, once all rules of the event have run.
  package func collapseOperations() { rb_collapse_ops(machine) }

  /// The bytes of an operation's part.
  package func bytes(_ offset: UInt32, _ length: UInt32) -> UnsafeRawBufferPointer {
    guard length > 0, let base = rb_op_bytes(machine) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: base + Int(offset), count: Int(length))
  }

  /// The types of the events that led to the current one.
  package var chain: UnsafeRawBufferPointer { rb_chain(machine).raw }

  private func result(_ status: rb_status) -> CallResult {
    switch status {
    case RB_OK: .done
    case RB_NOT_FIRED: .skipped
    default: .failed
    }
  }
}
