/// An event of a transaction: the one that was sent, or one that a rule raised.
struct QueuedEvent {
  enum Origin: Equatable {
    /// It is the transaction's own event.
    case sent
    /// It was parked together with the transaction's event and is retried with it.
    case parked
    /// A rule of the plugin with that index raised it.
    case raised(by: Int)
  }

  let origin: Origin
  /// How many raises deep it is.
  let depth: Int
  /// The rule that raised it, as an index in its plugin; -1 for none.
  let rule: Int
  let type: Range<Int>
  let data: Range<Int>
  let chain: Range<Int>

  /// Whether a rule raised it.
  var isRaised: Bool { if case .raised = origin { true } else { false } }

  /// Whether a rule of that plugin raised it.
  func isRaised(by plugin: Int) -> Bool { origin == .raised(by: plugin) }
}
