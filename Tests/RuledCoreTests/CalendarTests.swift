import TestSupport
import Testing

@testable import RuledCore

@Suite struct CalendarTests {
  private let zones = HostZones.database

  private func seconds(_ text: String) throws -> Double { try #require(ZoneDatabase.parse(text)) }

  @Test(arguments: [
    ("2025-11-10", "Pacific/Auckland", "2025-11-09T11:00:00Z"), ("2025-11-10", "Asia/Kolkata", "2025-11-09T18:30:00Z"),
    ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ("2018-02-18", "America/Sao_Paulo", "2018-02-18T03:00:00Z"),
    ("2022-03-27", "Asia/Beirut", "2022-03-26T22:00:00Z"), ("2022-10-30", "Asia/Beirut", "2022-10-29T22:00:00Z"),
    ("2024-11-03", "America/Havana", "2024-11-03T04:00:00Z"), ("2011-12-30", "Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z"), ("2100-07-02", "Europe/Berlin", "2100-07-01T22:00:00Z"),
    ("2100-03-28", "Asia/Beirut", "2100-03-27T22:00:00Z"),
  ])
  func `A day starts at its first moment`(date: String, zone: String, start: String) throws {
    let day = Int(try seconds(date + "T00:00:00Z")) / 86_400
    #expect(try zones.start(day, zone: zone) == Int(try seconds(start)))
  }

  @Test(arguments: HostZones.samples)
  func `Days follow each other and begin where they should`(zone: String) throws {
    let first = CivilDate.days(year: 2012, month: 1, day: 1)
    let last = CivilDate.days(year: 2050, month: 1, day: 1)
    var previous = try zones.start(first - 1, zone: zone)
    for day in first...last {
      let start = try zones.start(day, zone: zone)
      let length = start - previous
      guard try zones.day(Double(start), zone: zone) == day, try zones.day(Double(start - 1), zone: zone) == day - 1,
        (22 * 3_600...26 * 3_600).contains(length)
      else {
        Issue.record("\(zone) \(CivilDate(days: day)) starts at \(start), \(length) s after the day before")
        return
      }
      previous = start
    }
  }

  @Test(arguments: [
    "", "/etc/passwd", "../../etc/passwd", "Europe/../../x", "Europe//Berlin", "Europe/Berlin/", "Europe/Berlin\u{0}",
    "localtime", "posixrules", "right/UTC", "posix/UTC", "Nowhere/Atlantis", "Europe", "tzdata.zi", "europe/berlin",
    ".",
  ])
  func `A name that is no zone is an error and never leaves the folder`(name: String) {
    let zones = ZoneDatabase { name in
      #expect(ZoneDatabase.isValid(name) && !name.contains("..") && !name.hasPrefix("/"))
      return HostZones.load(name)
    }
    #expect(throws: CalendarError("unknown time zone \"\(name)\"")) { try zones.day(0, zone: name) }
  }

  @Test func `On a host without files of zones it is the host's fault that a zone is not known`() throws {
    let zones = ZoneDatabase { _ in nil }
    #expect(try zones.day(0, zone: "UTC") == 0)
    for name in ["Europe/Berlin", "Nowhere/Atlantis"] {
      do throws(CalendarError) {
        _ = try zones.day(0, zone: name)
        Issue.record("\(name) is known")
      } catch { #expect(error.isOfHost && error.message.contains("\"\(name)\""), "\(error)") }
    }
    #expect(throws: CalendarError("unknown time zone \"../Berlin\"")) { try zones.day(0, zone: "../Berlin") }
  }

  @Test func `A zone is loaded once`() throws {
    var loads = 0
    let zones = ZoneDatabase { name in
      loads += 1
      return HostZones.load(name)
    }
    for _ in 0..<3 { _ = try zones.day(0, zone: "Europe/Berlin") }
    _ = try zones.day(0, zone: "UTC")
    #expect(loads == 1)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e18, -1e18])
  func `Times that no calendar has are errors`(time: Double) {
    #expect(throws: CalendarError.self) { try zones.day(time, zone: "UTC") }
    #expect(throws: CalendarError.self) { try ZoneDatabase.format(time) }
    #expect(throws: CalendarError.self) { try zones.start(Int.max, zone: "UTC") }
  }

  @Test func `Damaged zone files never trap`() throws {
    let original = try #require(HostZones.load("America/Sao_Paulo"))
    var random = SeededRandom(seed: 4)
    for _ in 0..<3_000 {
      var bytes = original
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      bytes.removeLast(Int.random(in: 0...20, using: &random))
      guard let zone = TimeZoneTable(tzif: bytes) else { continue }
      for moment in [0, 1_700_000_000, 4_100_000_000] as [Int64] { _ = zone.start(of: zone.day(at: moment)) }
    }
  }

  @Test(
    arguments: [
      ("EST5EDT,M3.2.0,M11.1.0", -18_000, 1_751_328_000, -14_400),
      ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -7_200, 1_751_328_000, -3_600),
      ("IST-1GMT0,M10.5.0,M3.5.0/1", 3_600, 1_735_689_600, 0),
      ("XXX3EDT4,0/0,J365/23", -10_800, 1_735_700_400, -14_400),
      ("<+0545>-5:45", 20_700, 0, 20_700), ("AAA3BBB,J60/0,J61/0", -10_800, 1_709_262_000, -7_200),
    ] as [(String, Int, Int64, Int)])
  func `POSIX rules are followed`(text: String, standard: Int, moment: Int64, expected: Int) throws {
    let rule = try #require(PosixTimeZone(parsing: text.utf8))
    #expect(rule.offset == standard)
    #expect(rule.span(at: moment).offset == expected)
  }

  @Test(arguments: [
    "", "E5", "EST", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0", "EST5EDT,M3.2.0,M11.1.0x", "<A5",
  ])
  func `Text that is no POSIX rule is refused`(text: String) { #expect(PosixTimeZone(parsing: text.utf8) == nil) }
}
