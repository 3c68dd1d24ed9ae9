internal import RuledCore
internal import RuledEngine
internal import RuledReplay

/// The rules of both sides of a backtest, to be loaded as often as worlds need them.
struct BacktestRules: Sendable {
  let baseline: RulesSource
  let candidate: RulesSource
  /// The candidate's folder, as it was named.
  let folder: String
  /// The daemon's configuration of plugins, for both sides.
  let configuration: [String: Configuration.Plugin]

  /// The rules that the options name; `live` are the rules in force, if a daemon or a store is at hand.
  init(_ arguments: Arguments, live: RevisionArchive.Revision?) throws {
    folder = arguments.operand(0) ?? "rules"
    configuration = live?.configuration ?? [:]
    if let live, !arguments.has("baseline") {
      baseline = live.rules
    } else {
      baseline = try RulesSelection([arguments.value("baseline") ?? "rules"]).read()
    }
    let selection = try RulesSelection([folder])
    let named = arguments.value("plugins")?.split(separator: ",").map(String.init)
    let chosen = named ?? selection.plugins.map { $0.sorted() }
    let new = try selection.read()
    for name in chosen ?? [] where !(new.plugins + baseline.plugins).contains(where: { $0.name == name }) {
      let hint = NearestName.hint(name, in: new.plugins.map(\.name), otherwise: "name one of its folders")
      throw UsageError("'\(folder)' has no plugin '\(name)'\(hint)")
    }
    candidate = baseline.taking(chosen, from: new)
  }

  /// Loads the rules of both sides; `warmsUp`: whether events are played before the range.
  func loading(warmsUp: Bool) -> Sides.Load {
    Sides.loading(
      baseline, candidate, warmsUp: warmsUp, configuration: configuration, now: Timestamp(microseconds: 0)
    ) { RequestError(.unavailable, "the rules do not load: \($0)") }
  }
}
