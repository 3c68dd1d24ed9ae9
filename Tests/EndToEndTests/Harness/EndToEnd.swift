import Testing

/// All tests of the programs as they are run; one after the other, as each keeps the machine busy.
@Suite(.serialized) enum EndToEnd {
  /// How many events the heavy tests send.
  static let events = 100_000
  /// How many connections they send them over.
  static let connections = 8
  /// How often the rules are reloaded under load.
  static let reloads = 500
}
