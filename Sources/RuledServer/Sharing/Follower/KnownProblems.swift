import Synchronization

/// What a node that evaluates for the owner of the log knows to be wrong, for its `health`.
final class KnownProblems: Sendable {
  private struct State {
    var own: [String] = []
    var told: [String] = []
  }

  private let state = Mutex(State())

  /// Nothing is wrong.
  init() {}

  /// What is wrong with what the node evaluates, a sentence each.
  var own: [String] {
    get { state.withLock { $0.own } }
    set { state.withLock { $0.own = newValue } }
  }

  /// What the owner says is wrong with it and with other nodes, a sentence each, which names the node.
  var told: [String] {
    get { state.withLock { $0.told } }
    set { state.withLock { $0.told = newValue } }
  }
}
