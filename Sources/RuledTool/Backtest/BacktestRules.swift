internal import RuledCore
internal import RuledEngine
internal import RuledLua
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
    candidate = try Self.replace(chosen, of: baseline, by: try selection.read(), in: folder)
  }

  /// Loads the rules of both sides for worlds of the worker's thread: each needs catalogs of its own.
  ///
  /// `warmsUp`: whether events are played before the range.
  func load(_ worker: LuaWorker, warmsUp: Bool) throws(RequestError) -> Sides.Rules {
    (try load(baseline, worker), warmsUp ? try load(baseline, worker) : nil, try load(candidate, worker))
  }

  /// The revision that rules have with the configuration.
  func revision(of rules: RulesSource) throws(RequestError) -> String { try load(rules, LuaWorker()).revision }

  private func load(_ source: RulesSource, _ worker: LuaWorker) throws(RequestError) -> Catalog {
    do throws(ReloadError) {
      return try CatalogBuilder.build(
        source, configuration: configuration, previous: nil, worker: worker, now: Timestamp(microseconds: 0))
    } catch {
      throw RequestError(.unavailable, "the rules do not load: \(ErrorReport(error).lines.joined(separator: "; "))")
    }
  }

  /// The old rules with the chosen plugins of the new ones; all of the new ones when none are chosen.
  private static func replace(
    _ chosen: [String]?, of old: RulesSource, by new: RulesSource, in folder: String
  ) throws(UsageError) -> RulesSource {
    let names = new.plugins.map(\.name)
    for name in chosen ?? [] where !names.contains(name) && !old.plugins.contains(where: { $0.name == name }) {
      throw UsageError(
        "'\(folder)' has no plugin '\(name)'"
          + NearestName.hint(name, in: names, otherwise: "name one of its folders"))
    }
    return old.taking(chosen, from: new)
  }
}
