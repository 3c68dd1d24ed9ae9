import TestSupport
import Testing

@testable import RuledCore

/// Schedules against a second implementation, which looks at what the clocks show each quarter of an hour.
@Suite struct ScheduleTests {
  private static let quarter = 900
  private static let day = 86_400

  /// What the clocks of a zone show, as seconds since 1970-01-01T00:00.
  private struct Clocks {
    let table: TimeZoneTable

    func shown(_ time: Int) -> Int { table.day(at: Int64(time)) * day + table.secondOfDay(at: Int64(time)) }

    /// When the clocks are to show one of the wanted times first after `time`, as far as it is within 70 days.
    func next(after time: Int, _ isWanted: (_ shown: Int) -> Bool) -> Int? {
      var found: Int?
      var now = time - time % quarter - 2 * day
      var last = shown(now - quarter)
      while now < min(time + 70 * day, found ?? .max) {
        defer { now += quarter }
        let before = last, shown = self.shown(now)
        last = shown
        // What the clocks skip is later by as much, by the clock from before.
        for skipped in stride(from: before + quarter, to: shown, by: quarter) where isWanted(skipped) {
          let moment = now + skipped - before - quarter
          if moment > time { found = min(found ?? .max, moment) }
        }
        guard now > time, isWanted(shown) else { continue }
        let isFirst = !(1...96).contains { self.shown(now - $0 * quarter) == shown }
        if isFirst { found = min(found ?? .max, now) }
      }
      return found
    }
  }

  @Test(arguments: HostZones.samples)
  func `civil times are when the clocks show them first, and skipped ones come later`(zone: String) throws {
    let zones = HostZones.database
    let clocks = Clocks(table: try zones.zone(zone))
    var random = SeededRandom(seed: UInt64(zone.utf8.count) * 31 + UInt64(zone.utf8.first ?? 0))
    // Around days on which clocks change, and others.
    let changes = (2010...2030).flatMap { year in
      [(3, 30), (10, 27), (4, 5), (12, 30), (11, 4)].map { CivilDate.days(year: year, month: $0.0, day: $0.1) }
    }
    for number in 0..<9 {
      let start = (try #require(changes.randomElement(using: &random))) * Self.day
      let time = start + Int.random(in: -3 * Self.day...3 * Self.day, using: &random)
      let quarters = [0, 1, 2, 4, 6, 8, 9, 10, 12, 36, 95].randomElement(using: &random) ?? 0
      let at = "\((quarters / 4).digits(2)):\((quarters % 4 * 15).digits(2))"
      let weekday = Int.random(in: 1...7, using: &random), ofMonth = Int.random(in: 26...31, using: &random)
      var spec: JSONObject = ["at": .string(at), "zone": .string(zone)]
      switch number % 3 {
      case 0: spec["daily"] = true
      case 1: spec["weekly"] = .integer(Int64(weekday))
      default: spec["monthly"] = .integer(Int64(ofMonth))
      }
      let schedule = try Schedule(.object(spec))
      let next = try schedule.next(after: Int64(time) * 1_000_000, from: 0, in: zones)
      let expected = clocks.next(after: time) { shown in
        let days = Int((Double(shown) / Double(Self.day)).rounded(.down))
        guard shown - days * Self.day == quarters * Self.quarter else { return false }
        let date = CivilDate(days: days)
        switch number % 3 {
        case 0: return true
        case 1: return CivilDate.weekday(days: days) == weekday
        default: return date.day == min(ofMonth, CivilDate.daysIn(month: date.month, of: date.year))
        }
      }
      #expect(next == expected.map { Int64($0) * 1_000_000 }, "\(spec) after \(time)")
      #expect(try Schedule(schedule.json) == schedule)
    }
  }

  @Test func `a period is counted from its start`() throws {
    let schedule = try Schedule(["seconds": 1.5])
    let zones = HostZones.database
    #expect(try schedule.next(after: 100, from: 100, in: zones) == 1_500_100)
    #expect(try schedule.next(after: 1_500_099, from: 100, in: zones) == 1_500_100)
    #expect(try schedule.next(after: 1_500_100, from: 100, in: zones) == 3_000_100)
    #expect(try schedule.next(after: 50, from: 100, in: zones) == 1_500_100)
  }
}
