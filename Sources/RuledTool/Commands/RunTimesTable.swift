import RuledCore
import RuledReports

/// Writes how long the plugins of live rules and of a candidate take for an event, side by side.
enum RunTimesTable {
  /// The table of `run_times`, the member of a status; empty where nothing was measured.
  static func text(_ status: JSONValue, _ style: Style) -> String {
    let plugins = status.elements("run_times")
    guard !plugins.isEmpty else { return "" }
    let table = Table([
      "RUN TIME", ">LIVE P50", ">LIVE P99", ">CANDIDATE P50", ">CANDIDATE P99",
    ]).rows(plugins) { plugin in
      let times = ["live", "candidate"].flatMap { side in
        ["p50_us", "p99_us"].map { plugin[side]?[$0]?.doubleValue.map(Figures.micros) ?? "-" }
      }
      return [plugin.word("plugin").printable] + times
    }
    return "\n" + table.text(style)
  }
}
