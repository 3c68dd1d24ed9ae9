import Testing

@testable import RuledCore

/// Moments from civil dates and times of day.
@Suite struct CivilTimeTests {
  private let zones = HostZones.database

  private func seconds(_ text: String) throws -> Double { try #require(ZoneDatabase.parse(text)) }

  @Test(arguments: [
    ("2025-11-10", "09:00", "Europe/Berlin", "2025-11-10T08:00:00Z"),
    ("2025-07-10", "09:00:30", "Europe/Berlin", "2025-07-10T07:00:30Z"),
    ("2025-03-30", "00:00", "Europe/Berlin", "2025-03-29T23:00:00Z"),
    ("2025-03-30", "02:30", "Europe/Berlin", "2025-03-30T01:30:00Z"),  // skipped: 03:30
    ("2025-03-30", "02:00", "Europe/Berlin", "2025-03-30T01:00:00Z"),
    ("2025-03-30", "09:00", "Europe/Berlin", "2025-03-30T07:00:00Z"),
    ("2025-10-26", "02:30", "Europe/Berlin", "2025-10-26T00:30:00Z"),  // twice: the first
    ("2025-10-26", "03:00", "Europe/Berlin", "2025-10-26T02:00:00Z"),
    ("2025-04-06", "01:45", "Australia/Lord_Howe", "2025-04-05T14:45:00Z"),
    ("2025-10-05", "02:15", "Australia/Lord_Howe", "2025-10-04T15:45:00Z"),
    ("2018-11-04", "00:00", "America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ("2011-12-30", "09:00", "Pacific/Apia", "2011-12-30T19:00:00Z"),  // a day that was skipped: 09:00 of the next
    ("2100-06-01", "23:59", "Europe/Berlin", "2100-06-01T21:59:00Z"),
  ])
  func `A time of day is when the clocks show it`(date: String, time: String, zone: String, moment: String) throws {
    let day = Int(try seconds(date + "T00:00:00Z")) / 86_400
    #expect(try zones.moment(day, time: time, zone: zone) == Int(try seconds(moment)))
  }

  @Test(arguments: HostZones.samples)
  func `Midnight is the start of the day, and noon is shown at noon`(zone: String) throws {
    let table = try zones.zone(zone)
    for day in CivilDate.days(year: 2009, month: 1, day: 1)...CivilDate.days(year: 2045, month: 1, day: 1) {
      let midnight = table.moment(of: day, second: 0)
      guard midnight == table.start(of: day) else {
        Issue.record("\(zone) \(CivilDate(days: day)): \(midnight), but it starts at \(table.start(of: day))")
        return
      }
      let noon = table.moment(of: day, second: 43_200)
      guard table.secondOfDay(at: noon) == 43_200 else {
        Issue.record("\(zone) \(CivilDate(days: day)): noon is \(noon)")
        return
      }
    }
  }

  @Test(arguments: ["", "9:00", "09", "24:00", "09:60", "09:00:60", "09:00:00:00", "09:0x", "-1:00", "09:00 ", "٠٩:٠٠"])
  func `Text that is no time of day is an error`(text: String) {
    #expect(throws: CalendarError("\"\(text)\" is no time of day; write it like \"09:00\" or \"09:00:30\"")) {
      try zones.moment(0, time: text, zone: "UTC")
    }
  }

  @Test(arguments: [
    ("2024-12-29T12:00:00Z", "2024-W52"), ("2024-12-30T12:00:00Z", "2025-W01"), ("2025-01-05T12:00:00Z", "2025-W01"),
    ("2025-01-06T12:00:00Z", "2025-W02"), ("2020-12-31T12:00:00Z", "2020-W53"), ("2021-01-03T12:00:00Z", "2020-W53"),
    ("2021-01-04T12:00:00Z", "2021-W01"), ("2025-11-09T23:30:00Z", "2025-W46"), ("1970-01-01T00:00:00Z", "1970-W01"),
  ])
  func `Weeks are those of ISO 8601`(time: String, week: String) throws {
    let zone = time.contains("23:30") ? "Europe/Berlin" : "UTC"
    #expect(try zones.week(try seconds(time), zone: zone) == week)
  }

  @Test(
    arguments: [
      ("2025-01-31T12:00:00Z", ["months": 1], "2025-02-28T12:00:00Z"),
      ("2024-01-31T12:00:00Z", ["months": 1], "2024-02-29T12:00:00Z"),
      ("2025-03-31T12:00:00Z", ["months": -1], "2025-02-28T13:00:00Z"),  // 14:00 in summer, 14:00 in winter
      ("2024-02-29T12:00:00Z", ["years": 1], "2025-02-28T12:00:00Z"),
      ("2025-01-31T12:00:00Z", ["months": 1, "days": 1], "2025-03-01T12:00:00Z"),
      ("2025-03-29T01:30:00Z", ["days": 1], "2025-03-30T01:30:00Z"),  // 02:30 is skipped: 03:30
      ("2025-10-25T10:00:00Z", ["days": 1], "2025-10-26T11:00:00Z"),
      ("2025-10-25T10:00:00Z", ["hours": 24], "2025-10-26T10:00:00Z"),
      ("2025-10-26T01:30:00Z", ["minutes": 5], "2025-10-26T01:35:00Z"),  // the second 02:30 stays the second
      ("2025-10-26T01:30:00Z", [:], "2025-10-26T01:30:00Z"),
      ("2025-11-10T08:00:00.250Z", ["weeks": 2, "seconds": 0.5], "2025-11-24T08:00:00.750Z"),
      ("2025-12-15T12:00:00Z", ["months": -12], "2024-12-15T12:00:00Z"),
      ("0001-01-15T12:00:00Z", ["months": -1], "0000-12-15T12:00:00Z"),
    ] as [(String, JSONObject, String)])
  func `Months and days keep the time of day, hours pass`(from: String, amount: JSONObject, to: String) throws {
    let sum = try zones.add(try seconds(from), CivilSpan(amount), zone: "Europe/Berlin")
    #expect(Timestamp(seconds: sum).rfc3339 == Timestamp(seconds: try seconds(to)).rfc3339)
  }

  @Test(
    arguments: [
      (["month": 1], "calendar.add has no unit 'month'; did you mean 'months'?"),
      (["months": 0.5], "calendar.add: 'months' must be a whole number up to 4000000"),
      (["days": "1"], "calendar.add: 'days' must be a whole number up to 4000000"),
      (["hours": true], "calendar.add: 'hours' must be a number"),
      (["years": 9000], "the day must be within the years 0 to 9999"),
      (["seconds": 1e15], "the time must be within the years 0 to 9999"),
    ] as [(JSONObject, String)])
  func `A wrong amount is an error`(amount: JSONObject, message: String) {
    #expect(throws: CalendarError(message)) { try zones.add(1_762_761_600, CivilSpan(amount), zone: "UTC") }
  }
}
