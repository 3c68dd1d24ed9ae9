/// An event that a subject has seen lately, small enough to be kept by the hundred.
package struct RecentEvent: Sendable, Equatable {
  /// How many bytes one takes in a record.
  package static let byteCount = 12

  /// A hash of the event's source and id.
  package var hash: UInt64
  /// When its outcome expires, in seconds since 1970.
  package var seconds: UInt32

  /// The event of that hash, whose outcome expires at that time.
  package init(hash: UInt64, seconds: UInt32) {
    self.hash = hash
    self.seconds = seconds
  }
}
