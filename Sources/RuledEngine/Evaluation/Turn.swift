import RuledCore

/// One plugin's part in the event at hand: it stands or falls whole.
final class Turn {
  /// Whether its machine has begun the event.
  var began = false
  /// Why it failed; what it did is then void.
  var failure: Failure?
  /// Where its encoded state stands in the evaluator's `states`.
  var state = 0..<0
  /// The events that it has seen, for parking, as places in `seenTexts`.
  var seen: [Range<Int>] = []
  /// How many of its operations have been looked at for raised events.
  var raisesTaken = 0

  /// Makes it ready for the next event.
  func reset() {
    began = false
    failure = nil
    state = 0..<0
    seen.removeAll(keepingCapacity: true)
    raisesTaken = 0
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

/// The plugins that hear a type, remembered until the rules change.
final class Listeners {
  /// The type that was asked for.
  let type: [UInt8]
  /// Which plugins, and which of their rules in order.
  let plugins: [(plugin: Int, rules: [Int])]

  init(type: [UInt8], plugins: [(plugin: Int, rules: [Int])]) {
    self.type = type
    self.plugins = plugins
  }
}
