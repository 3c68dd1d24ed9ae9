import CLuaBridge
import RuledCore

/// One plugin's part in the event at hand: it stands or falls whole.
final class Turn {
  /// The plugin.
  let entry: Catalog.Plugin
  /// Whether its machine has begun the event.
  var began = false
  /// Why it failed; what it did is then void.
  var failure: Failure? { didSet { hasFailed = failure != nil } }
  /// Whether it failed.
  private(set) var hasFailed = false
  /// The kinds of the operations that it asked for, a bit for each, once it has handled all that it heard.
  var operations: OperationKinds = []
  /// Where its encoded state stands in the evaluator's `states`.
  var state = 0..<0
  /// The events that it has seen, for parking, as places in `seenTexts`.
  var seen: [Range<Int>] = []
  /// Whether its events are attempted without counting, which changes what an event costs, never what it comes to; outlasts the event.
  var attempts = AttemptSkipper(fewest: 8, most: 1024)
  /// How many of its operations have been looked at for raised events.
  var raisesTaken = 0
  /// How much processor time, in microseconds, the events took that others raised.
  var raisedTime: Int64 = 0
  /// How many of its operations have been checked.
  var checked = 0
  /// How many bytes those of them have that stand in the outcome.
  var outcomeBytes = 0
  /// What those of them count; the table of counters has room for it.
  var deltas: [CounterTable.Delta] = []
  /// How many messages it sends.
  var sends = 0
  /// What is counted of the plugin's messages, once it was asked for; outlasts the event.
  var sender: MessageSender?

  /// A turn of that plugin.
  init(_ entry: Catalog.Plugin) { self.entry = entry }

  /// Makes it ready for the next event.
  func reset() {
    began = false
    if hasFailed { failure = nil }
    operations = []
    state = 0..<0
    seen.removeAll(keepingCapacity: true)
    raisesTaken = 0
    raisedTime = 0
    checked = 0
    outcomeBytes = 0
    sends = 0
  }
}

/// An event that waits within a commit: the one that was sent, or one that a plugin raised.
struct QueuedEvent {
  /// Its type, in the evaluator's `queueBytes`.
  var type: Range<Int>
  /// Its data as JSON, likewise.
  var data: Range<Int>
  /// The types that led to it, likewise.
  var chain: Range<Int>
  /// The plugin that raised it, or -1 for the event that was sent.
  var origin: Int
  /// How many raises deep it stands.
  var depth: Int
}

/// A set of kinds of operations.
struct OperationKinds: OptionSet {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  init(_ kind: rb_op_kind) { rawValue = 1 << kind.rawValue }

  /// Log lines.
  static let logs = Self(RB_OP_LOG)
  /// Decisions.
  static let decisions = Self(RB_OP_DECIDE)
  /// Effects.
  static let effects = Self(RB_OP_EMIT)
  /// Raised events.
  static let raises = Self(RB_OP_RAISE)
  /// What is added to counters.
  static let counts = Self(RB_OP_COUNT)
  /// Those of which a later one may undo an earlier one.
  static let collapsing: Self = [effects, Self(RB_OP_TIMER_SET), Self(RB_OP_TIMER_CANCEL), Self(RB_OP_FORGET)]
  /// All that is written beside the plugin's state and the outcome.
  static let written: Self = [
    effects, Self(RB_OP_SEND), counts, Self(RB_OP_ONCE), Self(RB_OP_TIMER_SET), Self(RB_OP_TIMER_CANCEL),
    Self(RB_OP_FORGET),
  ]
}

extension rb_op {
  /// Whether it is an effect with a stable id.
  var isKeyed: Bool { flags & UInt8(RB_OP_KEYED) != 0 }
  /// Whether it is an effect with a stable id that the plugin forgot earlier in the event.
  var isAfresh: Bool { flags & UInt8(RB_OP_AFRESH) != 0 }
  /// Whether another operation of the event undoes it.
  var isVoid: Bool { flags & UInt8(RB_OP_VOID) != 0 }
}
