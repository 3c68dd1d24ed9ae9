/// How much a civil time is moved.
package struct CivilSpan: Sendable, Equatable {
  /// Calendar months, added first.
  let months: Int
  /// Civil days, added after the months.
  let days: Int
  /// Seconds, added last.
  let seconds: Double

  /// The span that a rule wrote as a table with numbers of years, months, weeks, days, hours, minutes and seconds.
  ///
  /// Years to days are whole numbers. Any may be negative. - Throws: A sentence that names the wrong member.
  package init(_ members: JSONObject) throws(CalendarError) {
    var (months, days, seconds) = (0, 0, 0.0)
    for (name, value) in members {
      switch name {
      case "years": months += try Self.whole(name, value) * 12
      case "months": months += try Self.whole(name, value)
      case "weeks": days += try Self.whole(name, value) * 7
      case "days": days += try Self.whole(name, value)
      case "hours": seconds += try Self.number(name, value) * 3_600
      case "minutes": seconds += try Self.number(name, value) * 60
      case "seconds": seconds += try Self.number(name, value)
      default:
        let hint = NearestName.hint(name, in: Self.units, otherwise: "it knows \(Self.units.joined(separator: ", "))")
        throw CalendarError("calendar.add has no unit '\(name)'\(hint)")
      }
    }
    (self.months, self.days, self.seconds) = (months, days, seconds)
  }

  private static let units = ["years", "months", "weeks", "days", "hours", "minutes", "seconds"]

  private static func whole(_ name: String, _ value: JSONValue) throws(CalendarError) -> Int {
    guard let number = value.intValue, number.magnitude <= 4_000_000 else {
      throw CalendarError("calendar.add: '\(name)' must be a whole number up to 4000000")
    }
    return Int(number)
  }

  private static func number(_ name: String, _ value: JSONValue) throws(CalendarError) -> Double {
    guard let number = value.doubleValue, number.isFinite else {
      throw CalendarError("calendar.add: '\(name)' must be a number")
    }
    return number
  }
}
