import RuledCore
import Testing

@testable import RuledLua

/// Civil times are computed from the zone's offset, which the host is asked for once until it changes.
@Suite struct CalendarTests {
  @Test(arguments: [
    ("2025-11-10T10:59:59Z", "Pacific/Auckland", "2025-11-10", 23, 1),
    ("2025-11-10T11:00:00Z", "Pacific/Auckland", "2025-11-11", 0, 2),
    ("2025-06-10T12:00:00Z", "Pacific/Auckland", "2025-06-11", 0, 3),
    ("2025-11-10T07:59:59.9Z", "America/Los_Angeles", "2025-11-09", 23, 7),
    ("2025-11-10T18:30:00Z", "Asia/Kolkata", "2025-11-11", 0, 2),
    ("2025-03-30T00:59:59Z", "Europe/Berlin", "2025-03-30", 1, 7),
    ("2025-03-30T01:00:00Z", "Europe/Berlin", "2025-03-30", 3, 7),
    ("2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29", 23, 4),
    ("2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31", 0, 6),
    ("2100-07-01T22:00:00Z", "Europe/Berlin", "2100-07-02", 0, 5),
    ("2100-01-01T22:00:00Z", "Europe/Berlin", "2100-01-01", 23, 5),
    ("2100-01-01T11:00:00Z", "Pacific/Auckland", "2100-01-02", 0, 6),
    ("2100-07-01T06:59:59Z", "America/Los_Angeles", "2100-06-30", 23, 3),
    ("1800-01-01T00:00:00Z", "UTC", "1800-01-01", 0, 3),
    ("9999-12-31T23:00:00Z", "Asia/Kolkata", "10000-01-01", 4, 6),
    ("0000-01-01T00:00:00Z", "America/New_York", "-0001-12-31", 19, 5),
  ])
  func `Date, hour and weekday are those on the wall`(
    text: String, zone: String, date: String, hour: Int, weekday: Int
  ) throws {
    let parts = ["date", "month", "hour", "weekday"].map { "calendar.\($0)(t, '\(zone)')" }
    let bench = try Bench(
      Bench.rule("local t = calendar.parse '\(text)' decide('v', { \(parts.joined(separator: ", ")) })"))
    let decided = try bench.handle().decisions["v"]
    #expect(decided == "[\"\(date)\",\"\(date.dropLast(3))\",\(hour),\(weekday)]")
  }

  @Test func `days, hours and weekdays follow the host's offset across its changes`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local t, zone = event.data.t, event.data.zone
        decide("v", { calendar.day(t, zone), calendar.hour(t, zone), calendar.weekday(t, zone) })
        """))
    let database = bench.worker.zones
    // Around the changes of 2026 in Berlin, of 2011 in Samoa, which skipped a day, and of Lord Howe Island, by half an hour.
    let moments: [(zone: String, around: Double)] = [
      ("Europe/Berlin", 1_774_746_000), ("Europe/Berlin", 1_792_890_000), ("Pacific/Apia", 1_325_239_200),
      ("Australia/Lord_Howe", 1_775_314_800), ("UTC", 0), ("America/New_York", -5_000_000_000.5),
      ("Asia/Kolkata", 253_402_200_000),
    ]
    for (zone, around) in moments {
      for step in -40...40 {
        let time = around + Double(step) * 1799.75
        let second = Int(time.rounded(.down)) + (try database.offset(time, zone: zone).seconds)
        let day = try database.day(time, zone: zone)
        let expected = [day, (second - day * 86_400) / 3_600, (day % 7 + 10) % 7 + 1]
        let outcome = try bench.handle(#"{"data":{"t":\#(time),"zone":"\#(zone)"}}"#)
        #expect(outcome.decisions["v"] == "[\(expected.map(String.init).joined(separator: ","))]", "\(zone) \(time)")
      }
    }
  }

  @Test func `a wrong argument is reported after a right one too`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        calendar.day(0, "UTC")
        for i, call in ipairs({
          function() calendar.day(1e18, "UTC") end, function() calendar.day(0 / 0, "UTC") end,
          function() calendar.day("0", "UTC") end, function() calendar.day(0) end, function() calendar.day(0, "utc") end,
          function() calendar.hour(-1e18, "UTC") end, function() calendar.weekday(0, 1) end,
        }) do
          local ok, why = pcall(call)
          decide("e" .. i, { ok, (string.gsub(why, "^[^ ]* ", "")) })
        end
        """))
    let decisions = try bench.handle().decisions
    #expect(decisions.count == 7 && decisions.values.allSatisfy { $0.hasPrefix("[false,") })
    #expect(decisions["e1"] == #"[false,"the time must be within the years 0 to 9999"]"#)
    #expect(decisions["e5"] == #"[false,"unknown time zone \"utc\""]"#)
  }

  @Test func `moments, months and weeks are the host's`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local t = calendar.parse("2025-01-31T08:00:00Z")
        local day = calendar.day(t, "Europe/Berlin")
        decide("at", calendar.format(calendar.at(day, "09:30", "Europe/Berlin")))
        decide("names", { calendar.month(t, "UTC"), calendar.week(t, "UTC") })
        decide("add", calendar.format(calendar.add(t, { months = 1, hours = 1 }, "Europe/Berlin")))
        decide("none", calendar.add(t, {}, "UTC") == t)
        for i, call in ipairs({
          function() calendar.add(t, { month = 1 }, "UTC") end, function() calendar.add(t, 1, "UTC") end,
          function() calendar.add(t, { days = 0 / 0 }, "UTC") end, function() calendar.at(day, "9", "UTC") end,
          function() calendar.at(day, 9, "UTC") end, function() calendar.add(t, { days = 1 }) end,
        }) do
          local ok, why = pcall(call)
          decide("e" .. i, { ok, (string.gsub(why, "^[^ ]* ", "")) })
        end
        """))
    let decisions = try bench.handle().decisions
    #expect(decisions["at"] == #""2025-01-31T08:30:00.000Z""#)
    #expect(decisions["names"] == #"["2025-01","2025-W05"]"#)
    #expect(decisions["add"] == #""2025-02-28T09:00:00.000Z""#)
    #expect(decisions["none"] == "true")
    #expect(decisions["e1"] == #"[false,"calendar.add has no unit 'month'; did you mean 'months'?"]"#)
    #expect(decisions["e4"]?.contains("is no time of day") == true)
    #expect((1...6).allSatisfy { decisions["e\($0)"]?.hasPrefix("[false,") == true })
  }

  @Test func `a working day is none of a list of dates, and another argument is refused`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local christmas = calendar.day(1766620800, "UTC")
        decide("days", { calendar.workday(christmas), calendar.workday(christmas, {}),
          calendar.workday(christmas, { "2025-12-25" }), calendar.workday(christmas + 2) })
        for i, list in ipairs { { ["2025-12-25"] = true }, { "2025-13-25" }, "2025-12-25" } do
          local ok, why = pcall(calendar.workday, christmas, list)
          decide("e" .. i, { ok, (string.gsub(why, "^[^ ]*:%d*: ", "")) })
        end
        local dates, known = { "02-28", "02-29", "02-30", "04-30", "04-31", "08-31", "09-31", "12-31", "12-00" }, array {}
        for _, date in ipairs(dates) do
          for _, year in ipairs { "1900-", "2000-", "2024-", "2025-" } do
            if pcall(calendar.workday, christmas, { year .. date }) then known[#known + 1] = year .. date end
          end
        end
        decide("known", known)
        """))
    let decisions = try bench.handle().decisions
    #expect(decisions["days"] == "[true,true,false,false]")
    #expect(decisions["e1"]?.contains("are a list of dates") == true)
    #expect(decisions["e2"]?.contains("is no date like") == true)
    #expect(decisions["e3"]?.hasPrefix("[false,") == true)
    let known = ["02-28", "02-29", "04-30", "08-31", "12-31"].flatMap { date in
      (date == "02-29" ? ["2000", "2024"] : ["1900", "2000", "2024", "2025"]).map { "\"\($0)-\(date)\"" }
    }
    #expect(decisions["known"] == "[\(known.joined(separator: ","))]")
  }
}
