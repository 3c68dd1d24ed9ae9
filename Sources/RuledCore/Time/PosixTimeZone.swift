/// The rule for times after a zone's last recorded transition: the POSIX `TZ` string at the end of a TZif file.
///
/// RFC 9636, section 3.3.1: offsets may exceed POSIX in that times of day run from -167 to 167 hours.
struct PosixTimeZone: Sendable, Equatable {
  /// A day of the year and a time on that day at which the clocks change, by the clock before the change.
  struct Change: Sendable, Equatable {
    enum Day: Sendable, Equatable {
      /// `Jn`: 1 to 365, February 29 never counted.
      case julian(Int)
      /// `n`: 0 to 365, February 29 counted.
      case ordinal(Int)
      /// `Mm.w.d`: a weekday (0 is Sunday) of a week (5 is the last) of a month.
      case weekday(month: Int, week: Int, day: Int)
    }

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

extension PosixTimeZone {
  /// The rule that a POSIX `TZ` string states, as in `NZST-12NZDT,M9.5.0,M4.1.0/3`, or nil if it is none.
  init?(parsing text: some Sequence<UInt8>) {
    var reader = Reader(bytes: Array(text))
    guard reader.name(), let west = reader.time() else { return nil }
    offset = -west
    if reader.isAtEnd { return }
    guard reader.name() else { return nil }
    var summerOffset = offset + 3_600
    if reader.next != UInt8(ascii: ",") {
      guard let west = reader.time() else { return nil }
      summerOffset = -west
    }
    guard let begin = reader.change(), let end = reader.change(), reader.isAtEnd else { return nil }
    summer = Summer(offset: summerOffset, begin: begin, end: end)
  }

  private struct Reader {
    let bytes: [UInt8]
    var position = 0

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }
    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard next == UInt8(ascii: character) else { return false }
      position += 1
      return true
    }

    /// An abbreviation: three letters or more, or anything in angle brackets.
    mutating func name() -> Bool {
      let start = position
      if skip("<") {
        while let byte = next, byte != UInt8(ascii: ">") { position += 1 }
        return skip(">")
      }
      while let byte = next, byte.isLetter { position += 1 }
      return position - start >= 3
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int? {
      var value: Int?
      while let byte = next, byte.isDigit, (value ?? 0) < 1_000 {
        value = (value ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
        position += 1
      }
      return value.flatMap { range.contains($0) ? $0 : nil }
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    mutating func time() -> Int? {
      let isNegative = skip("-")
      if !isNegative { _ = skip("+") }
      guard let hours = number(0...167) else { return nil }
      var seconds = hours * 3_600
      for unit in [60, 1] where skip(":") {
        guard let field = number(0...59) else { return nil }
        seconds += field * unit
      }
      return isNegative ? -seconds : seconds
    }

    /// `,day[/time]`; the time is 02:00 when it is not given.
    mutating func change() -> Change? {
      guard skip(","), let day = day() else { return nil }
      guard skip("/") else { return Change(day: day, time: 7_200) }
      return time().map { Change(day: day, time: $0) }
    }

    private mutating func day() -> Change.Day? {
      if skip("J") { return number(1...365).map(Change.Day.julian) }
      guard skip("M") else { return number(0...365).map(Change.Day.ordinal) }
      guard let month = number(1...12), skip("."), let week = number(1...5), skip("."), let day = number(0...6) else {
        return nil
      }
      return .weekday(month: month, week: week, day: day)
    }
  }
}
