import CLuaBridge
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

/// How far `run` came with an event.
package enum RunResult {
  /// All rules ran, and the state is encoded in `output`.
  case ended
  /// A rule raised something; so many rules are done. The others and `encodeState` are left.
  case raised(done: Int)
  /// A rule failed, or something around the rules; `failure(rule:)` tells why.
  case failed(rule: Int?)
}

extension PluginVM {
  /// Begins an event, runs the rules in order and encodes the state, in at most `stateLimit` bytes.
  ///
  /// With `uncounted` instructions are not counted where that can be made up for; `endUncounted` must then be called at the end.
  package func run(
    _ event: inout RuleEvent, budget: Budget, rules: [Int], stateLimit: Int, uncounted: Bool
  ) -> RunResult {
    var native = budget.native
    drawn = 0
    return rules.withUnsafeBufferPointer { rules in
      var run = rb_turn()
      run.rules = rules.baseAddress
      run.count = rules.count
      run.state_limit = stateLimit
      guard rb_run(machine, &event.native, &native, uncounted, &run) == RB_OK else {
        return .failed(rule: run.rule >= 0 ? Int(run.rule) : nil)
      }
      return run.ended ? .ended : .raised(done: run.next)
    }
  }

  /// Ends an event that was run uncounted, whether it failed or not.
  ///
  /// - Returns: false when it may have used more instructions than its budget: what it did is void, and it must run again, counted.
  package func endUncounted() -> Bool { rb_settle(machine) }

  /// Begins an event with the plugin's state for its subject.
  package func begin(_ event: inout RuleEvent, budget: Budget) -> CallResult {
    var native = budget.native
    drawn = 0
    return result(rb_begin(machine, &event.native, &native))
  }

  /// Begins an event that a rule of this plugin raised, within the current one; the state stays as it is.
  package func beginRaised(type: UnsafeRawBufferPointer, document: OpaquePointer, data: Int) -> CallResult {
    result(rb_begin_raised(machine, rb_slice(type), document, data, nil, 0, rb_slice()))
  }

  /// Begins an event that another plugin raised within the same transaction; a new budget starts.
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
  package func encodeState(limit: Int) -> CallResult { result(rb_finish(machine, limit)) }

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
  package var operations: Operations {
    var count = 0
    let first = rb_ops(machine, &count)
    return Operations(UnsafeBufferPointer(start: first, count: count), bytes: rb_op_bytes(machine))
  }

  /// Marks the operations that later ones of the event undo; to be called once all rules of the event have run.
  package func collapseOperations() { rb_collapse_ops(machine) }

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
