/// What rules call as `calendar`: times are seconds since the epoch, within the years 0 to 9999.
extension ZoneDatabase {
  /// The count of civil days from 1970-01-01 to the date in `zone` at `time`.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func day(_ time: Double, zone: String) throws(CalendarError) -> Int {
    try self.zone(zone).day(at: Self.seconds(time))
  }

  /// The date in `zone` at `time` as `YYYY-MM-DD`.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func date(_ time: Double, zone: String) throws(CalendarError) -> String {
    CivilDate(days: try day(time, zone: zone)).text
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

  /// The hour in `zone` at `time`, 0 to 23.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func hour(_ time: Double, zone: String) throws(CalendarError) -> Int {
    try self.zone(zone).secondOfDay(at: Self.seconds(time)) / 3_600
  }

  /// The weekday in `zone` at `time`, from 1 for Monday to 7 for Sunday.
  ///
  /// - Throws: A sentence about the time or the zone.
  package func weekday(_ time: Double, zone: String) throws(CalendarError) -> Int {
    CivilDate.weekday(days: try day(time, zone: zone))
  }

  /// An offset from UTC, and a time for which it holds.
  package struct Offset: Sendable, Equatable {
    /// Seconds east of UTC.
    package var seconds: Int
    /// The first second of that time since the epoch; the offset may have held before.
    package var from: Int64
    /// The first second behind it.
    package var until: Int64
  }

  /// The offset of `zone` at `time`, and until when it holds.
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

  private static let days = -719_528...2_932_896

  private static func seconds(_ time: Double) throws(CalendarError) -> Int64 {
    guard time >= Timestamp.minimum.seconds, time <= Timestamp.maximum.seconds else {
      throw CalendarError("the time must be within the years 0 to 9999")
    }
    return Int64(time.rounded(.down))
  }
}
