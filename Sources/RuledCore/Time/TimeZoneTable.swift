/// One IANA time zone: its offsets from UTC over time.
struct TimeZoneTable: Sendable, Equatable {
  /// When the offset changes, ascending, in seconds since the epoch.
  let transitions: [Int64]
  /// The offset that applies from the transition at the same position, in seconds east of UTC.
  let offsets: [Int]
  /// The offset before the first transition.
  let firstOffset: Int
  /// The rule after the last transition; without one the last offset stays.
  let rule: PosixTimeZone?

  init(transitions: [Int64], offsets: [Int], firstOffset: Int, rule: PosixTimeZone?) {
    precondition(transitions.count == offsets.count)
    self.transitions = transitions
    self.offsets = offsets
    self.firstOffset = firstOffset
    self.rule = rule
  }

  static let utc = TimeZoneTable(transitions: [], offsets: [], firstOffset: 0, rule: nil)

  /// Seconds east of UTC at a moment in seconds since the epoch.
  ///
  /// - Complexity: O(log *n*) in the number of transitions.
  func offset(at moment: Int64) -> Int { span(at: moment).offset }

  /// The offset at a moment, and the moment at which the next one begins (`Int64.max` if none does).
  func span(at moment: Int64) -> (offset: Int, end: Int64) {
    let next = transitions.partitioningIndex { $0 > moment }
    if next < transitions.count { return (next == 0 ? firstOffset : offsets[next - 1], transitions[next]) }
    return rule?.span(at: moment) ?? (offsets.last ?? firstOffset, .max)
  }

  /// The count of civil days from 1970-01-01 to the local date at a moment.
  func day(at moment: Int64) -> Int { Int(local(moment).flooredDivision(by: 86_400).quotient) }

  /// Seconds since local midnight by the clock on the wall.
  func secondOfDay(at moment: Int64) -> Int { Int(local(moment).flooredDivision(by: 86_400).remainder) }

  /// The first moment of a civil day, in seconds since the epoch.
  ///
  /// When midnight does not exist it is the moment of the change, when it comes twice the first; for a day that the zone
  /// skipped whole it is the first moment of the next.
  func start(of day: Int) -> Int64 {
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
  func moment(of day: Int, second: Int) -> Int64 {
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
  init?(tzif bytes: [UInt8]) {
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
