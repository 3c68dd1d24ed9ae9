/// A copy of one change.
package struct Change: Sendable {
  let subject: [UInt8]
  /// Its version after the change.
  let version: UInt64
  /// The plugins that took part.
  let plugins: [String]
  /// `"subject":…,"version":…,"event":{…},"plugins":[…],"decisions":{…},"effects":[…]` as JSON members.
  package let members: [UInt8]
}
