/// When a repeating timer is due: each so many seconds, or at a time of day on every day, one weekday or one day of the month.
package struct Schedule: Sendable, Equatable {
  private enum Days: Equatable {
    case all
    /// 1 for Monday to 7 for Sunday.
    case weekday(Int)
    /// The last day of a month that has no such day.
    case ofMonth(Int)
  }

  private enum Times: Equatable {
    /// In microseconds.
    case period(Int64)
    case civil(Days, time: String, zone: String)
  }

  private let times: Times

  /// The longest period in seconds: ten years.
  private static let mostSeconds = 3653.0 * 86_400
  private static let members = ["seconds", "daily", "weekly", "monthly", "at", "zone"]

  /// The schedule that a rule writes as a table.
  ///
  /// - Throws: A sentence on what is wrong with it.
  package init(_ table: JSONValue) throws(CalendarError) {
    guard let spec = table.objectValue else { throw CalendarError("timer.every takes a table such as \(Self.example)") }
    for name in spec.names where !Self.members.contains(name) {
      let hint = NearestName.hint(name, in: Self.members, otherwise: "it has \(Self.members.joined(separator: ", "))")
      throw CalendarError("timer.every has no '\(name)'\(hint)")
    }
    let kinds = Self.members.prefix(4).filter { spec[$0] != nil }
    guard kinds.count == 1, let kind = kinds.first else {
      throw CalendarError("timer.every takes one of seconds, daily, weekly and monthly, as in \(Self.example)")
    }
    guard kind != "seconds" else {
      guard let seconds = spec[kind]?.doubleValue, (1...Self.mostSeconds).contains(seconds) else {
        throw CalendarError("timer.every: seconds is a number from 1 to those of 10 years")
      }
      guard spec["at"] == nil, spec["zone"] == nil else {
        throw CalendarError("timer.every: at and zone go with daily, weekly and monthly")
      }
      times = .period(Int64((seconds * 1e6).rounded()))
      return
    }
    guard let time = spec["at"]?.stringValue, time.utf8.count == 5, ZoneDatabase.secondOfDay(time) != nil else {
      throw CalendarError("timer.every: at is a time of day such as \"09:00\"")
    }
    guard let zone = spec["zone"]?.stringValue else {
      throw CalendarError("timer.every: zone is the name of a time zone, such as \"Europe/Berlin\"")
    }
    times = .civil(try Self.days(kind, spec[kind]), time: time, zone: zone)
  }

  private static let example = #"{ daily = true, at = "09:00", zone = "Europe/Berlin" }"#

  private static func days(_ kind: String, _ value: JSONValue?) throws(CalendarError) -> Days {
    let number = value?.doubleValue.flatMap { Int(exactly: $0) } ?? 0
    switch kind {
    case "weekly":
      guard (1...7).contains(number) else {
        throw CalendarError("timer.every: weekly is a weekday, 1 for Monday to 7 for Sunday")
      }
      return .weekday(number)
    case "monthly":
      guard (1...31).contains(number) else {
        throw CalendarError("timer.every: monthly is a day of the month, 1 to 31")
      }
      return .ofMonth(number)
    default:
      guard value?.boolValue == true else { throw CalendarError("timer.every: daily is true") }
      return .all
    }
  }

  package var json: JSONValue {
    switch times {
    case .period(let period):
      return ["seconds": .shortest(Double(period) / 1e6)]
    case .civil(let days, let time, let zone):
      var spec: JSONObject = ["at": .string(time), "zone": .string(zone)]
      switch days {
      case .all: spec["daily"] = true
      case .weekday(let day): spec["weekly"] = .integer(Int64(day))
      case .ofMonth(let day): spec["monthly"] = .integer(Int64(day))
      }
      return .object(spec)
    }
  }

  /// The first time after `time`, in microseconds since 1970; a period is counted from `start`.
  ///
  /// - Throws: A sentence about the zone or the time.
  package func next(after time: Int64, from start: Int64, in zones: ZoneDatabase) throws(CalendarError) -> Int64 {
    switch times {
    case .period(let period): return start + (max(time - start, 0) / period + 1) * period
    case .civil(let days, let text, let zone):
      // The date may be the day before, as the clocks skip whole days in some zones.
      var day = try zones.day(Double(time) / 1e6, zone: zone) - 1
      while true {
        day = Self.first(days, from: day)
        let moment = Int64(try zones.moment(day, time: text, zone: zone)) * 1_000_000
        if moment > time { return moment }
        day += 1
      }
    }
  }

  private static func first(_ days: Days, from day: Int) -> Int {
    switch days {
    case .all: return day
    case .weekday(let weekday): return day + (weekday - CivilDate.weekday(days: day) + 7) % 7
    case .ofMonth(let wanted):
      let date = CivilDate(days: day)
      let inMonth = min(wanted, CivilDate.daysIn(month: date.month, of: date.year))
      if date.day <= inMonth { return day - date.day + inMonth }
      let (year, month) = date.month == 12 ? (date.year + 1, 1) : (date.year, date.month + 1)
      return CivilDate.days(year: year, month: month, day: min(wanted, CivilDate.daysIn(month: month, of: year)))
    }
  }
}
