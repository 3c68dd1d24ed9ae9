/// A moment in microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
package struct Timestamp: Sendable, Hashable, Comparable {
  /// Microseconds since the epoch.
  package var microseconds: Int64

  /// The moment that many microseconds after the epoch.
  @inlinable package init(microseconds: Int64) { self.microseconds = microseconds }

  /// The nearest moment to that many seconds after the epoch, held within the years 0 to 9999; NaN is the epoch.
  package init(seconds: Double) {
    let bounded = Swift.min(Swift.max(seconds, Self.minimum.seconds), Self.maximum.seconds)
    let microseconds = bounded.isNaN ? 0 : Int64((bounded * 1e6).rounded())
    self.microseconds = Swift.min(Swift.max(microseconds, Self.minimum.microseconds), Self.maximum.microseconds)
  }

  /// The first moment of the year 0.
  package static let minimum = Timestamp(microseconds: -62_167_219_200_000_000)
  /// The last moment of the year 9999.
  package static let maximum = Timestamp(microseconds: 253_402_300_799_999_999)

  /// Seconds since the epoch.
  @inlinable package var seconds: Double { Double(microseconds) / 1e6 }

  /// Whether `left` is before `right`.
  @inlinable package static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microseconds < right.microseconds
  }
}
