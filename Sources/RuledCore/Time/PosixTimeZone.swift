/// The rule for times after a zone's last recorded transition: the POSIX `TZ` string at the end of a TZif file.
///
/// RFC 9636, section 3.3.1: offsets may exceed POSIX in that times of day run from -167 to 167 hours.
struct PosixTimeZone: Sendable, Equatable {
  /// A day of the year and a time on it at which the clocks change, by the clock that goes before.
  struct Change: Sendable, Equatable {
    /// How the day is given.
    enum Day: Sendable, Equatable {
      /// `Jn`: 1 to 365, February 29 never counted.
      case julian(Int)
      /// `n`: 0 to 365, February 29 counted.
      case ordinal(Int)
      /// `Mm.w.d`: a weekday (0 is Sunday) of a week (5 is the last) of a month.
      case weekday(month: Int, week: Int, day: Int)
    }

    /// The day.
    var day: Day
    /// Seconds after midnight.
    var time: Int

    /// Seconds from the epoch to the change in a year, as if the clock showed UTC.
    func seconds(in year: Int) -> Int64 {
      let newYear = CivilDate.days(year: year, month: 1, day: 1)
      let days: Int
      switch day {
      case .julian(let number): days = newYear + number - (CivilDate.isLeap(year) && number >= 60 ? 0 : 1)
      case .ordinal(let number): days = newYear + number
      case .weekday(let month, let week, let day):
        let first = CivilDate.days(year: year, month: month, day: 1)
        let toWeekday = (day - CivilDate.weekday(days: first) + 14) % 7
        let length = CivilDate.daysIn(month: month, of: year)
        var inMonth = toWeekday + (week - 1) * 7
        while inMonth >= length { inMonth -= 7 }
        days = first + inMonth
      }
      return Int64(days) * 86_400 + Int64(time)
    }
  }

  /// Summer time: its offset, when it begins and when it ends.
  struct Summer: Sendable, Equatable {
    /// Seconds east of UTC.
    var offset: Int
    /// When it begins, by standard time.
    var begin: Change
    /// When it ends, by summer time.
    var end: Change
  }

  /// Seconds east of UTC of standard time.
  var offset: Int
  /// Summer time, if the zone has it.
  var summer: Summer?

  /// The offset at a moment, and the moment at which it ends (`Int64.max` if never).
  func span(at moment: Int64) -> (offset: Int, end: Int64) {
    guard let summer else { return (offset, .max) }
    let year = CivilDate(days: Int((moment + Int64(offset)).flooredDivision(by: 86_400).quotient)).year
    var current = (offset: offset, begin: Int64.min)
    var end = Int64.max
    for year in (year - 1)...(year + 1) {
      let changes = [
        (summer.begin.seconds(in: year) - Int64(offset), summer.offset),
        (summer.end.seconds(in: year) - Int64(summer.offset), offset),
      ]
      for (at, offset) in changes {
        if at > moment {
          end = min(end, at)
        } else if at >= current.begin {
          current = (offset, at)
        }
      }
    }
    return (current.offset, end)
  }
}
