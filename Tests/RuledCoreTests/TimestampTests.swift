import TestSupport
import Testing

@testable import RuledCore

@Suite struct TimestampTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2025-11-10T12:34:56.789Z", 1_762_778_096_789_000),
      ("2025-11-10t12:34:56.789123999z", 1_762_778_096_789_123), ("2025-11-10T12:34:56+05:30", 1_762_758_296_000_000),
      ("2025-11-10T12:34:56-00:00", 1_762_778_096_000_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
      ("2016-12-31T23:59:60.5Z", 1_483_228_800_500_000), ("1969-12-31T23:59:59.9Z", -100_000),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000_000), ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
    ] as [(String, Int64)])
  func `RFC 3339 is read`(text: String, microseconds: Int64) {
    #expect(Timestamp(rfc3339: text)?.microseconds == microseconds)
  }

  @Test(arguments: [
    "", "2025-11-10", "2025-11-10T12:34:56", "2025-11-10 12:34:56Z", "2025-02-29T00:00:00Z", "2025-13-01T00:00:00Z",
    "2025-00-01T00:00:00Z", "2025-01-00T00:00:00Z", "2025-04-31T00:00:00Z", "2025-01-01T24:00:00Z",
    "2025-01-01T00:60:00Z", "2025-01-01T00:00:61Z", "2025-01-01T00:00:00.Z", "2025-01-01T00:00:00+0100",
    "2025-01-01T00:00:00+24:00", "2025-01-01T00:00:00+01:60", "2025-01-01T00:00:00Z ", "25-01-01T00:00:00Z",
    "2025-1-01T00:00:00Z", "1900-02-29T00:00:00Z", "2025-01-01T00:00:00,5Z", "+2025-01-01T00:00:00Z",
  ])
  func `Text that is not RFC 3339 is refused`(text: String) { #expect(Timestamp(rfc3339: text) == nil) }

  @Test func `Text has milliseconds and Z`() {
    #expect(Timestamp(microseconds: 0).rfc3339 == "1970-01-01T00:00:00.000Z")
    #expect(Timestamp(microseconds: -1).rfc3339 == "1969-12-31T23:59:59.999Z")
    #expect(Timestamp.minimum.rfc3339 == "0000-01-01T00:00:00.000Z")
    #expect(Timestamp(microseconds: .max).rfc3339 == Timestamp.maximum.rfc3339)
    #expect(Timestamp.maximum.rfc3339 == "9999-12-31T23:59:59.999Z")
  }

  @Test func `Seconds outside the years 0 to 9999 are held at the ends`() {
    #expect(Timestamp(seconds: .infinity) == .maximum)
    #expect(Timestamp(seconds: -1e300) == .minimum)
    #expect(Timestamp(seconds: .nan).microseconds == 0)
    #expect(Timestamp(seconds: 1.5).microseconds == 1_500_000)
  }

  @Test func `Random moments survive text and seconds`() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<20_000 {
      let range = Timestamp.minimum.microseconds / 1_000...Timestamp.maximum.microseconds / 1_000
      let moment = Timestamp(microseconds: Int64.random(in: range, using: &random) * 1_000)
      #expect(Timestamp(rfc3339: moment.rfc3339) == moment)
      let near = Timestamp(microseconds: Int64.random(in: 0...4_000_000_000_000_000, using: &random))
      #expect(Timestamp(seconds: near.seconds) == near)
    }
  }

  @Test func `Days and dates convert both ways over the whole range`() {
    var previous = CivilDate(days: -719_529)
    for days in -719_528...2_932_896 {
      let date = CivilDate(days: days)
      let isNext =
        date.day == previous.day + 1 && date.month == previous.month
        || date.day == 1 && previous.day == CivilDate.daysIn(month: previous.month, of: previous.year)
      guard isNext, date.days == days else {
        Issue.record("\(days) is \(date)")
        return
      }
      previous = date
    }
    #expect(CivilDate(days: 20_402) == CivilDate(year: 2025, month: 11, day: 10))
    #expect(CivilDate.weekday(days: 20_402) == 1)
    #expect(CivilDate.weekday(days: -4) == 7)
    #expect(CivilDate(year: 2023, month: 2, day: 29) == nil)
  }

  @Test(
    arguments: [
      ("14d", 1_209_600_000_000), ("48h", 172_800_000_000), ("1.5h", 5_400_000_000), ("90s", 90_000_000),
      ("2m", 120_000_000), ("0.29s", 290_000), ("0.000001s", 1), ("1w", 604_800_000_000), ("1h30m", 5_400_000_000),
      ("1w2d3h4m5.5s", 788_645_500_000),
    ] as [(String, Int64)])
  func `Durations are read`(text: String, microseconds: Int64) { #expect(DurationText.parse(text) == microseconds) }

  @Test(
    arguments: [
      "", "d", "14", "0s", "-1d", "+1d", "1.d", ".5d", "1 d", "1e3s", "1D", "99999999999999999d", "30m1h", "1h1h",
      "1.5h3m",
      "1h30", "0h0m",
    ])
  func `Text that is not a positive duration is refused`(text: String) { #expect(DurationText.parse(text) == nil) }
}
