/// The time zones that rules may name, read on first use and cached.
package final class ZoneDatabase {  // confined: each worker has its own
  private let load: (String) -> [UInt8]?
  private var zones: [String: TimeZoneTable] = ["UTC": .utc, "Etc/UTC": .utc]

  /// A database that reads the TZif file of a zone by `load`, which answers nil when there is none.
  ///
  /// `load` gets only valid names: a path of the zoneinfo folder and such a name stays inside the folder.
  package init(load: @escaping (String) -> [UInt8]?) { self.load = load }

  /// The zone of that name.
  ///
  /// - Throws: A sentence when the name is no IANA zone that this host knows.
  func zone(_ name: String) throws(CalendarError) -> TimeZoneTable {
    if let known = zones[name] { return known }
    guard Self.isValid(name) else { throw Self.unknown(name) }
    guard let bytes = load(name), let zone = TimeZoneTable(tzif: bytes) else {
      guard load(Self.always) == nil else { throw Self.unknown(name) }
      var error = CalendarError("this host has no time zone files, so that \"\(name)\" can't be read; install tzdata")
      error.isOfHost = true
      throw error
    }
    zones[name] = zone
    return zone
  }

  /// A zone whose file is on every host that has zones.
  package static let always = "Etc/UTC"

  /// Whether there is a zone of that name.
  ///
  /// - Throws: That this host has no zones.
  package func knows(_ name: String) throws(CalendarError) -> Bool {
    do throws(CalendarError) {
      _ = try zone(name)
      return true
    } catch {
      guard !error.isOfHost else { throw error }
      return false
    }
  }

  private static func unknown(_ name: String) -> CalendarError { CalendarError("unknown time zone \"\(name)\"") }

  /// Whether `name` has the form of an IANA zone's name: parts of letters, digits, `_`, `+` and `-` between slashes.
  ///
  /// Every zone begins with a capital, which keeps out the host's own `localtime` and the variants in `right` and
  /// `posix`.
  static func isValid(_ name: String) -> Bool {
    guard let first = name.utf8.first, first >= UInt8(ascii: "A"), first <= UInt8(ascii: "Z"), name.utf8.count <= 64
    else { return false }
    return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty && part.allSatisfy { $0.isLetter || $0.isDigit || "_+-".utf8.contains($0) }
    }
  }
}

/// The functions of the table `calendar` for rules: times are seconds since the epoch, within the years 0 to 9999.
extension ZoneDatabase {
  /// The count of civil days from 1970-01-01 to the date in `zone` at `time`.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func day(_ time: Double, zone: String) throws(CalendarError) -> Int {
    try self.zone(zone).day(at: Self.seconds(time))
  }

  /// When that civil day begins in `zone`, in seconds since the epoch.
  ///
  /// When midnight does not exist it is the first moment that does, when it comes twice the first.
  ///
  /// - Throws: A sentence about the day or the zone.
  package func start(_ day: Int, zone: String) throws(CalendarError) -> Int {
    guard Self.days.contains(day) else { throw CalendarError("the day must be within the years 0 to 9999") }
    return Int(try self.zone(zone).start(of: day))
  }

  /// An offset from UTC, and a time for which it applies.
  package struct Offset: Sendable, Equatable {
    /// Seconds east of UTC.
    package var seconds: Int
    /// The first second of that time since the epoch; the offset may have applied before.
    package var from: Int64
    /// The first second after it.
    package var until: Int64
  }

  /// The offset of `zone` at `time`, and until when it applies.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func offset(_ time: Double, zone: String) throws(CalendarError) -> Offset {
    let zone = try self.zone(zone)
    let moment = try Self.seconds(time)
    let span = zone.span(at: moment)
    return Offset(seconds: span.offset, from: moment, until: min(span.end, Int64(Timestamp.maximum.seconds)))
  }

  /// The time as RFC 3339 in UTC with milliseconds.
  ///
  /// - Throws: A sentence about the time.
  package static func format(_ time: Double) throws(CalendarError) -> String {
    _ = try seconds(time)
    return Timestamp(seconds: time).rfc3339
  }

  /// The seconds since the epoch that an RFC 3339 text names, or nil if it is none.
  package static func parse(_ text: String) -> Double? { Timestamp(rfc3339: text)?.seconds }

  /// The civil days of the years 0 to 9999.
  static let days = -719_528...2_932_896

  /// The whole second of a time, which must be within these days.
  static func seconds(_ time: Double) throws(CalendarError) -> Int64 {
    guard time >= Timestamp.minimum.seconds, time <= Timestamp.maximum.seconds else {
      throw CalendarError("the time must be within the years 0 to 9999")
    }
    return Int64(time.rounded(.down))
  }
}

/// Why a civil date could not be computed, in a sentence for the author of the rule.
package struct CalendarError: Error, Sendable, Equatable {
  package var message: String
  /// Whether the host is at fault, and not the rule.
  package var isOfHost = false

  package init(_ message: String) { self.message = message }
}

/// Moments from civil dates and times of day, and the names of months and weeks.
extension ZoneDatabase {
  /// When the clocks in `zone` show `time`, such as `09:00` or `09:00:30`, on that civil day, in seconds since the epoch.
  ///
  /// A time that the clocks skip is as much later as they skip, by the clock before the change: 02:30 is then 03:30. A time that comes twice is
  /// the first.
  ///
  /// - Throws: A sentence about the day, the time or the zone.
  package func moment(_ day: Int, time: String, zone: String) throws(CalendarError) -> Int {
    guard let second = Self.secondOfDay(time) else {
      throw CalendarError("\"\(time)\" is no time of day; write it like \"09:00\" or \"09:00:30\"")
    }
    return Int(try moment(day, second: second, in: self.zone(zone)))
  }

  /// The week of ISO 8601 in `zone` at `time` as `YYYY-Www`: it begins on Monday, and belongs to the year that has its Thursday.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func week(_ time: Double, zone: String) throws(CalendarError) -> String {
    let day = try day(time, zone: zone)
    let thursday = day - CivilDate.weekday(days: day) + 4
    let year = CivilDate(days: thursday).year
    guard (0...9999).contains(year) else { throw CalendarError("the week must be of the years 0 to 9999") }
    let number = (thursday - CivilDate.days(year: year, month: 1, day: 1)) / 7 + 1
    return "\(year.digits(4))-W\(number.digits(2))"
  }

  /// The moment that long after `time`, in seconds since the epoch.
  ///
  /// Months and days keep the time of day in `zone`: see `moment` for one that the clocks skip or that comes twice. A day that the month does
  /// not have is its last. Seconds are added after that, as they pass.
  ///
  /// - Throws: A sentence about the times or the zone.
  package func add(_ time: Double, _ span: CivilSpan, zone: String) throws(CalendarError) -> Double {
    let moment = try Self.seconds(time)
    let table = try self.zone(zone)
    var result = time
    if span.months != 0 || span.days != 0 {
      let date = CivilDate(days: table.day(at: moment))
      let month = date.year * 12 + date.month - 1 + span.months
      let year = month >= 0 ? month / 12 : (month - 11) / 12
      let inYear = month - year * 12 + 1
      let day = min(date.day, CivilDate.daysIn(month: inYear, of: year))
      let days = CivilDate.days(year: year, month: inYear, day: day) + span.days
      let sum = try self.moment(days, second: table.secondOfDay(at: moment), in: table)
      result = Double(sum) + (time - Double(moment))
    }
    result += span.seconds
    _ = try Self.seconds(result)
    return result
  }

  private func moment(_ day: Int, second: Int, in zone: TimeZoneTable) throws(CalendarError) -> Int64 {
    guard Self.days.contains(day) else { throw CalendarError("the day must be within the years 0 to 9999") }
    return zone.moment(of: day, second: second)
  }

  /// The seconds after midnight that `HH:MM` or `HH:MM:SS` names.
  static func secondOfDay(_ text: String) -> Int? {
    let fields = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard (2...3).contains(fields.count) else { return nil }
    var second = 0
    for (index, limit) in [24, 60, 60].enumerated() {
      guard index < fields.count else {
        second *= 60
        continue
      }
      let field = fields[index]
      guard field.count == 2, field.allSatisfy(\.isDigit),
        let value = Int(String(Substring(field))), value < limit
      else { return nil }
      second = second * 60 + value
    }
    return second
  }
}
