import RuledCore

/// A plugin's declaration of its state: `state { version =, … }`.
package struct StateShape: Sendable {
  /// The highest version that can be declared.
  static let mostVersions = 1_000_000

  /// A step from one version to the next.
  package struct Step: Sendable {
    let hasUp: Bool
    package let hasDown: Bool
  }

  package let version: Int
  package let members: DataSchema
  /// Whether members that are not declared are refused.
  package let isClosed: Bool
  package let file: String
  package let line: Int

  /// The shape as a plugin writes it, without the members' meanings: two shapes with the same text accept the same states.
  var text: String { members.json(false).text + (isClosed ? " closed" : "") }
}
