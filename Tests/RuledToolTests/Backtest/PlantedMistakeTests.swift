import Glibc
import RuledCore
import RuledJSON
import RuledTool
import TestSupport
import Testing

/// Mistakes planted in copies of the shipped rules, each to be found and named by the report on the shipped examples.
@Suite struct PlantedMistakeTests {
  private let copy = TemporaryFolder()

  private static let root = String(
    #filePath.prefix(#filePath.count - "/Tests/RuledToolTests/Backtest/PlantedMistakeTests.swift".count))

  /// Copies the shipped rules with some texts replaced in one file.
  private func plant(_ file: String, _ edits: KeyValuePairs<String, String>) throws {
    for name in Self.files(in: Self.root + "/rules") where !name.contains("/tests/") {
      var text = try String(decoding: Input(path: "\(Self.root)/rules/\(name)").readAll(), as: UTF8.self)
      if name == file {
        for (old, new) in edits {
          try #require(text.contains(old), "\(file) has changed; plant the mistake elsewhere")
          text = text.replacing(old, with: new)
        }
      }
      copy.write(name, text)
    }
  }

  private func report(_ product: String) -> JSONValue {
    let run = Run(
      "backtest", copy.path, "--baseline", Self.root + "/rules", "--events", "\(Self.root)/examples/\(product).ndjson",
      "--json")
    return JSONValue(text: run.output) ?? .string(run.errors)
  }

  private func decision(_ report: JSONValue, _ key: String) -> JSONValue? {
    report["decisions"]?.arrayValue?.first { $0["key"]?.stringValue == key }
  }

  @Test func `a wrong comparison changes the multiplier on the day on which it should begin`() throws {
    try plant("lib/points.lua", ["n >= least and": "n > least and"])
    let report = report("gamification")
    #expect(report["outcomes"]?["changed"] != 0)
    let multiplier = decision(report, "points")?["numbers"]?.arrayValue?.first { $0["path"] == "multiplier" }
    #expect(multiplier?["before"] != multiplier?["after"])
    #expect(report["states"]?["changed"] != 0)
  }

  @Test func `a state member that is lost shows in the states and in the decisions that depend on it`() throws {
    try plant(
      "lib/streak.lua",
      [
        "kept.streak, kept.counted, kept.due, kept.freezes = streak_now, today, today + 1, held":
          "kept.streak, kept.due, kept.freezes = streak_now, today + 1, held"
      ])
    let report = report("gamification")
    #expect(report["states"]?["changed"] != 0)
    #expect((decision(report, "streak")?["new"]?.intValue ?? 0) > 0)
  }

  @Test func `a changed setting shows in the decisions that it governs`() throws {
    try plant(
      "onboarding/plugin.lua",
      [
        "radius_m           = 100": "radius_m           = 1",
        "milestones         = { 1, 5": "milestones         = { 2, 5",
      ])
    #expect(report("onboarding")["outcomes"]?["changed"] != 0)
  }

  @Test func `one more effect shows by its sink and type`() throws {
    try plant(
      "deeplinks/plugin.lua",
      [
        "run = function(_, state) decide":
          "run = function(_, state) emit(\"analytics\", \"signed_in\", {}) decide"
      ])
    let effects = report("deeplinks")["effects"]?.arrayValue ?? []
    let more = effects.first { $0["type"] == "signed_in" }
    #expect(more?["before"] == 0)
    #expect((more?["after"]?.intValue ?? 0) > 0)
  }

  @Test func `a slower rule shows by its name and its instructions`() throws {
    try plant(
      "gamification/wallet.lua",
      [
        "function wallet.spend(event, state)\n": "function wallet.spend(event, state)\n  for _ = 1, 1000 do end\n"
      ])
    let report = report("gamification")
    #expect(report["outcomes"]?["changed"] == 0)
    let slower = (report["rules"]?.arrayValue ?? []).filter { rule in
      (rule["instructions"]?["after"]?.intValue ?? 0) > (rule["instructions"]?["before"]?.intValue ?? 0) + 900
    }
    #expect(slower.map { $0["rule"]?.stringValue } == ["spending"])
    #expect(slower.first?["fired"]?["before"] == slower.first?["fired"]?["after"])
  }

  @Test(arguments: ["gamification", "analytics", "onboarding", "deeplinks", "attribution"])
  func `renamed locals, moved lines and files of other names make no difference`(product: String) throws {
    try plant(
      "gamification/tiers.lua",
      [
        "(tier, state, days)": "(tier, state, so_many)", "days >= tier": "so_many >= tier",
        "local tiers = {": "\n\n-- moved\nlocal tiers = {",
      ])
    try renameModule("standings", to: "table_of_all", in: "gamification")
    let report = report(product)
    #expect(report["outcomes"]?["changed"] == 0)
    #expect((report["events"]?.intValue ?? 0) > 10)
    #expect(report["states"]?["changed"] == 0)
    #expect(report["baseline"] != report["candidate"])
    for rule in report["rules"]?.arrayValue ?? [] {
      #expect(rule["instructions"]?["before"] == rule["instructions"]?["after"])
    }
  }

  /// Gives a module of a plugin another file name.
  private func renameModule(_ old: String, to new: String, in plugin: String) throws {
    copy.move("\(plugin)/\(old).lua", "\(plugin)/\(new).lua")
    for name in Self.files(in: copy.path) where name.hasPrefix(plugin + "/") && name.hasSuffix(".lua") {
      let text = try String(decoding: Input(path: copy(name)).readAll(), as: UTF8.self)
      copy.write(name, text.replacing("require \"\(old)\"", with: "require \"\(new)\""))
    }
  }

  /// The paths of all files below a folder, relative to it.
  private static func files(in folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var found: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard !name.hasPrefix(".") else { continue }
      if entry.pointee.d_type == DT_DIR {
        found += files(in: "\(folder)/\(name)").map { "\(name)/\($0)" }
      } else {
        found.append(name)
      }
    }
    return found
  }
}
