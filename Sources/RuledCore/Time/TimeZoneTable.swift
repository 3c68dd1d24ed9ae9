/// One IANA time zone: its offsets from UTC over time.
package struct TimeZoneTable: Sendable, Equatable {
  /// When the offset changes, ascending, in seconds since the epoch.
  let transitions: [Int64]
  /// The offset that applies from the transition at the same position, in seconds east of UTC.
  let offsets: [Int]
  /// The offset before the first transition.
  let firstOffset: Int
  /// The rule after the last transition; without one the last offset stays.
  let rule: PosixTimeZone?

  /// A zone of these parts.
  init(transitions: [Int64], offsets: [Int], firstOffset: Int, rule: PosixTimeZone?) {
    precondition(transitions.count == offsets.count)
    self.transitions = transitions
    self.offsets = offsets
    self.firstOffset = firstOffset
    self.rule = rule
  }

  package static let utc = TimeZoneTable(transitions: [], offsets: [], firstOffset: 0, rule: nil)

  /// Seconds east of UTC at a moment in seconds since the epoch.
  ///
  /// - Complexity: O(log *n*) in the number of transitions.
  package func offset(at moment: Int64) -> Int { span(at: moment).offset }

  /// The offset at a moment, and the moment at which the next one begins (`Int64.max` if none does).
  func span(at moment: Int64) -> (offset: Int, end: Int64) {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= moment { low = middle + 1 } else { high = middle }
    }
    if low < transitions.count { return (low == 0 ? firstOffset : offsets[low - 1], transitions[low]) }
    return rule?.span(at: moment) ?? (offsets.last ?? firstOffset, .max)
  }

  /// The count of civil days from 1970-01-01 to the local date at a moment.
  package func day(at moment: Int64) -> Int { Int(local(moment).flooredDivision(by: 86_400).quotient) }

  /// Seconds since local midnight by the clock on the wall.
  package func secondOfDay(at moment: Int64) -> Int { Int(local(moment).flooredDivision(by: 86_400).remainder) }

  /// The first moment of a civil day, in seconds since the epoch.
  ///
  /// When midnight does not exist it is the moment of the change, when it comes twice the first; for a day that the zone
  /// skipped whole it is the first moment of the next.
  package func start(of day: Int) -> Int64 {
    let midnight = Int64(day) * 86_400
    var moment = midnight - Self.widestOffset
    while true {
      let (offset, end) = span(at: moment)
      let candidate = max(moment, midnight - Int64(offset))
      if candidate < end { return candidate }
      moment = end
    }
  }

  /// When the clocks show that second of a civil day, in seconds since the epoch.
  ///
  /// A time that the clocks skip is taken by the offset before the change, so that it is as much later as they skip; a time that comes twice is
  /// the first.
  package func moment(of day: Int, second: Int) -> Int64 {
    let wanted = Int64(day) * 86_400 + Int64(second)
    var begin = wanted - Self.widestOffset
    var previous: Int64?
    while true {
      let (offset, end) = span(at: begin)
      let candidate = wanted - Int64(offset)
      if candidate < begin { return previous ?? candidate }
      if candidate < end { return candidate }
      (previous, begin) = (candidate, end)
    }
  }

  private func local(_ moment: Int64) -> Int64 { moment + Int64(offset(at: moment)) }

  /// No offset from UTC is as large as this, in seconds.
  static let widestOffset: Int64 = 26 * 3_600
}

extension TimeZoneTable {
  /// The zone that a TZif file of version 1 or later holds (RFC 9636), or nil if the bytes are none.
  ///
  /// Files with leap seconds (`right/…`) are refused: their times are not POSIX times.
  package init?(tzif bytes: [UInt8]) {
    guard let first = Header(bytes, at: 0) else { return nil }
    if first.version == 0 {
      self.init(bytes, header: first, timeSize: 4, rule: nil)
      return
    }
    guard let second = Header(bytes, at: first.end(timeSize: 4)) else { return nil }
    let footer = bytes.dropFirst(second.end(timeSize: 8))
    guard footer.first == 0x0A, let close = footer.dropFirst().firstIndex(of: 0x0A) else { return nil }
    let text = bytes[(footer.startIndex + 1)..<close]
    var rule: PosixTimeZone?
    if !text.isEmpty {
      rule = PosixTimeZone(parsing: text)
      if rule == nil { return nil }
    }
    self.init(bytes, header: second, timeSize: 8, rule: rule)
  }

  private init?(_ bytes: [UInt8], header: Header, timeSize: Int, rule: PosixTimeZone?) {
    guard header.leapCount == 0, header.typeCount > 0, header.end(timeSize: timeSize) <= bytes.count else { return nil }
    let times = header.body
    let kinds = times + header.timeCount * timeSize
    let types = kinds + header.timeCount
    let offsetsOfTypes = (0..<header.typeCount).map {
      Int(Int32(truncatingIfNeeded: bytes.bigEndian(at: types + $0 * 6, size: 4)))
    }
    guard offsetsOfTypes.allSatisfy({ $0.magnitude < Self.widestOffset }) else { return nil }
    var transitions: [Int64] = []
    var offsets: [Int] = []
    for position in 0..<header.timeCount {
      let raw = bytes.bigEndian(at: times + position * timeSize, size: timeSize)
      let time = timeSize == 4 ? Int64(Int32(truncatingIfNeeded: raw)) : raw
      let kind = Int(bytes[kinds + position])
      guard offsetsOfTypes.indices.contains(kind), time > (transitions.last ?? .min) else { return nil }
      transitions.append(time)
      offsets.append(offsetsOfTypes[kind])
    }
    self.init(transitions: transitions, offsets: offsets, firstOffset: offsetsOfTypes[0], rule: rule)
  }

  /// The header of a data block.
  private struct Header {
    let version: UInt8
    let body: Int
    let isUTCount, isStandardCount, leapCount, timeCount, typeCount, characterCount: Int

    init?(_ bytes: [UInt8], at start: Int) {
      guard start >= 0, start + 44 <= bytes.count, bytes[start..<(start + 4)].elementsEqual("TZif".utf8) else {
        return nil
      }
      version = bytes[start + 4]
      body = start + 44
      let counts = (0..<6).map { Int(bytes.bigEndian(at: start + 20 + $0 * 4, size: 4)) }
      guard counts.allSatisfy({ $0 >= 0 && $0 <= bytes.count }) else { return nil }
      (isUTCount, isStandardCount, leapCount) = (counts[0], counts[1], counts[2])
      (timeCount, typeCount, characterCount) = (counts[3], counts[4], counts[5])
    }

    func end(timeSize: Int) -> Int {
      body + timeCount * (timeSize + 1) + typeCount * 6 + characterCount + leapCount * (timeSize + 4) + isStandardCount
        + isUTCount
    }
  }
}

extension [UInt8] {
  fileprivate func bigEndian(at start: Int, size: Int) -> Int64 {
    self[start..<(start + size)].reduce(0) { $0 << 8 | Int64($1) }
  }
}

/// The rule for times after a zone's last recorded transition: the POSIX `TZ` string at the end of a TZif file.
///
/// RFC 9636, section 3.3.1: offsets may exceed POSIX in that times of day run from -167 to 167 hours.
struct PosixTimeZone: Sendable, Equatable {
  /// A day of the year and a time on that day at which the clocks change, by the clock before the change.
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

    init(bytes: [UInt8]) { self.bytes = bytes }

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
      while let byte = next, (byte | 0x20) >= UInt8(ascii: "a"), (byte | 0x20) <= UInt8(ascii: "z") { position += 1 }
      return position - start >= 3
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int? {
      var value: Int?
      while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), (value ?? 0) < 1_000 {
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
