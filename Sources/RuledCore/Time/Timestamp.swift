import Glibc

/// A moment in microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
public struct Timestamp: Sendable, Hashable, Comparable {
  public var microseconds: Int64

  @inlinable package init(microseconds: Int64) { self.microseconds = microseconds }

  /// The nearest moment to that many seconds after the epoch, clamped to the years 0 to 9999; NaN is the epoch.
  package init(seconds: Double) {
    let bounded = Swift.min(Swift.max(seconds, Self.minimum.seconds), Self.maximum.seconds)
    let microseconds = bounded.isNaN ? 0 : Int64((bounded * 1e6).rounded())
    self.microseconds = Swift.min(Swift.max(microseconds, Self.minimum.microseconds), Self.maximum.microseconds)
  }

  /// The first moment of the year 0.
  package static let minimum = Timestamp(microseconds: -62_167_219_200_000_000)
  /// The last moment of the year 9999.
  package static let maximum = Timestamp(microseconds: 253_402_300_799_999_999)

  @inlinable package var seconds: Double { Double(microseconds) / 1e6 }

  @inlinable public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microseconds < right.microseconds
  }
}

extension Timestamp {
  /// The moment that an RFC 3339 text names, or nil if it is none.
  ///
  /// `T` and `Z` may be lower case, the fraction may have any number of digits (those after the sixth are dropped), and
  /// second 60 is the next second.
  package init?(rfc3339 text: ByteView) {
    var reader = FieldReader(bytes: text)
    guard let year = reader.digits(4), reader.skip("-"), let month = reader.digits(2), reader.skip("-"),
      let day = reader.digits(2), reader.skip("T") || reader.skip("t"), let hour = reader.digits(2), hour < 24,
      reader.skip(":"), let minute = reader.digits(2), minute < 60, reader.skip(":"), let second = reader.digits(2),
      second <= 60, let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    var fraction = 0
    if reader.skip(".") {
      guard let read = reader.fraction() else { return nil }
      fraction = read
    }
    guard let offset = reader.offset(), reader.isAtEnd else { return nil }
    let seconds = date.days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    microseconds = Int64(seconds) * 1_000_000 + Int64(fraction)
  }

  package init?(rfc3339 text: String) {
    guard let moment = text.withView({ Timestamp(rfc3339: $0) }) else { return nil }
    self = moment
  }

  /// The moment as RFC 3339 in UTC with whole milliseconds, as in `2025-11-10T12:34:56.789Z`.
  package var rfc3339: String {
    let buffer = ByteBuffer(capacity: 32)
    write(to: buffer)
    return buffer.text
  }

  /// Appends the moment as RFC 3339 in UTC with whole milliseconds; finer digits are dropped.
  ///
  /// The text has four digits for the year: a moment outside the years 0 to 9999 is written as the nearest within.
  package func write(to buffer: ByteBuffer) {
    let bounded = Swift.min(Swift.max(microseconds, Self.minimum.microseconds), Self.maximum.microseconds)
    let (day, inDay) = bounded.flooredDivision(by: 86_400_000_000)
    let date = CivilDate(days: Int(day))
    let milliseconds = Int(inDay / 1_000)
    buffer.append(date.year, digits: 4, then: "-")
    buffer.append(date.month, digits: 2, then: "-")
    buffer.append(date.day, digits: 2, then: "T")
    buffer.append(milliseconds / 3_600_000, digits: 2, then: ":")
    buffer.append(milliseconds / 60_000 % 60, digits: 2, then: ":")
    buffer.append(milliseconds / 1_000 % 60, digits: 2, then: ".")
    buffer.append(milliseconds % 1_000, digits: 3, then: "Z")
  }

  /// The moment as RFC 3339 in UTC with nothing dropped: with whole milliseconds, or with six digits where that is not enough.
  package var exactRFC3339: String {
    let finer = microseconds.flooredDivision(by: 1_000).1
    guard finer > 0 else { return rfc3339 }
    return rfc3339.dropLast() + finer.digits(3) + "Z"
  }
}

extension Int64 {
  /// The quotient rounded down, and the remainder that is never negative.
  func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

private struct FieldReader {
  let bytes: ByteView
  var position = 0

  var isAtEnd: Bool { position == bytes.count }

  private var digit: Int? {
    guard position < bytes.count else { return nil }
    let value = bytes[position] &- UInt8(ascii: "0")
    return value < 10 ? Int(value) : nil
  }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  mutating func digits(_ count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let digit else { return nil }
      value = value * 10 + digit
      position += 1
    }
    return value
  }

  /// Microseconds from one digit or more.
  mutating func fraction() -> Int? {
    var value = 0
    var unit = 100_000
    guard digit != nil else { return nil }
    while let digit {
      value += digit * unit
      unit /= 10
      position += 1
    }
    return value
  }

  /// Seconds east of UTC.
  mutating func offset() -> Int? {
    if skip("Z") || skip("z") { return 0 }
    let isWest = skip("-")
    guard isWest || skip("+"), let hours = digits(2), hours < 24, skip(":"), let minutes = digits(2), minutes < 60
    else { return nil }
    let seconds = hours * 3_600 + minutes * 60
    return isWest ? -seconds : seconds
  }
}

extension Timestamp {
  package static var wall: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}
