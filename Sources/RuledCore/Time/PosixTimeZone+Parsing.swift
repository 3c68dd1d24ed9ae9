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
