/// A copy of one change.
package struct Change: Sendable {
  package let subject: [UInt8]
  /// Its version after the change.
  package let version: UInt64
  /// The plugins that took part.
  package let plugins: [String]
  /// `"subject":…,"version":…,"event":{…},"plugins":[…],"decisions":{…},"effects":[…]` as JSON members.
  package let members: [UInt8]
}
