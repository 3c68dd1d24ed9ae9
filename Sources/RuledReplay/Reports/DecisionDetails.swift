package import RuledCore

/// What a report for people shows of a decision besides what is in its JSON.
package struct DecisionDetails: Sendable {
  /// A change within values that are objects or arrays on both sides.
  package struct Member: Sendable {
    /// Where in the value, such as `profile.points`.
    package var path: String
    /// What the baseline had there; null for nothing.
    package var before: JSONValue
    /// What the candidate has there; null for nothing.
    package var after: JSONValue
    package var count: Int
  }

  package var plugin: String
  package var key: String
  /// The commonest changes within values.
  package var members: [Member]
  /// Some of the events that it changed for.
  package var examples: [DecisionTally.Example]
}
