import RuledCore
import RuledEngine

/// How long the plugins of live rules take for an event since a candidate runs beside them, and how long the candidate's take.
///
/// Both sides are measured alike: one run in 16, by the wall clock.
struct RunTimes: Sendable {
  private var candidate: [Catalog.Plugin] = []
  /// The live plugins' measurements when the comparison began.
  private let earlier: [String: (runtime: PluginRuntime, durations: LatencyHistogram)]

  init(besides live: Catalog?) {
    let plugins = live?.plugins ?? []
    earlier = Dictionary(uniqueKeysWithValues: plugins.map { ($0.name, ($0.runtime, $0.runtime.durations)) })
  }

  /// The same with the candidate's plugins beside them.
  func of(_ candidate: Catalog) -> RunTimes {
    var times = self
    times.candidate = candidate.plugins
    return times
  }

  /// The times as `[{plugin, live, candidate}]`, each side `{measured, p50_us, p99_us}` or null.
  ///
  /// Plugins common to both sides are left out, as their runs are measured together, and so are plugins without measurements.
  func json(besides live: Catalog?) -> JSONValue {
    let live = live?.plugins ?? []
    let names = Set(live.map(\.name)).union(candidate.map(\.name)).sorted()
    return .array(
      names.compactMap { name in
        let (left, right) = (live.first { $0.name == name }, candidate.first { $0.name == name })
        if let left, let right, left.runtime === right.runtime { return nil }
        let sides = (live: left.flatMap(durations), candidate: right.map(\.runtime.durations))
        guard (sides.live?.total ?? 0) + (sides.candidate?.total ?? 0) > 0 else { return nil }
        return ["plugin": .string(name), "live": Self.json(sides.live), "candidate": Self.json(sides.candidate)]
      })
  }

  /// The candidate's plugins that the live rules do not have like that.
  func changed(from live: Catalog?) -> [Catalog.Plugin] {
    candidate.filter { plugin in live?.plugins.contains { $0.runtime === plugin.runtime } != true }
  }

  /// The durations of a live plugin's runs since the comparison began, or since it was loaded.
  private func durations(of plugin: Catalog.Plugin) -> LatencyHistogram {
    var new = LatencyHistogram(precision: PluginRuntime.precision)
    let before = earlier[plugin.name].flatMap { $0.runtime === plugin.runtime ? $0.durations : nil }
    new.add(plugin.runtime.durations, since: before)
    return new
  }

  private static func json(_ durations: LatencyHistogram?) -> JSONValue {
    guard let durations, durations.total > 0 else { return .null }
    func micros(_ fraction: Double) -> JSONValue { .number(Double(durations.quantile(fraction) / 100) / 10) }
    return ["measured": .integer(Int64(clamping: durations.total)), "p50_us": micros(0.5), "p99_us": micros(0.99)]
  }
}
