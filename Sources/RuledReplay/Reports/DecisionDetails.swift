package import RuledCore

/// Details of a decision, for reports to people, beside those in its JSON.
package struct DecisionDetails: Sendable {
  /// A change within values that are objects or arrays on both sides.
  package struct Member: Sendable {
    /// The path in the value, such as `profile.points`.
    package var path: String
    /// The baseline's value there; null for none.
    package var before: JSONValue
    /// The candidate's value there; null for none.
    package var after: JSONValue
    package var count: Int
  }

  package var plugin: String
  package var key: String
  /// The commonest changes within values.
  package var members: [Member]
  package var examples: [DecisionTally.Example]
}
