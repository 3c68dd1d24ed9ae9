import RuledCore

/// What an event came to.
struct Outcome: Equatable {
  /// What was decided, each value as JSON.
  var decisions: [String: String] = [:]
  /// All operations, each as a line.
  var operations: [String] = []
  /// The state, as JSON; nil when something failed.
  var state: String?
  /// Which rules fired.
  var fired: [String] = []
  /// Why it failed.
  var failure: Failure?
}
