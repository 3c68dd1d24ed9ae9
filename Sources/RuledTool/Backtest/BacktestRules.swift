internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// The rules of both sides of a backtest.
struct BacktestRules {
  /// The rules of the one side.
  let baseline: Catalog
  /// The rules of the other.
  let candidate: Catalog
  /// The thread's worker, which both were loaded with.
  let worker = LuaWorker()
  /// The candidate's folder, as it was named.
  let folder: String

  /// Loads the rules that the options name.
  ///
  /// - Throws: `ToolError` with all errors of rules that do not load.
  init(_ arguments: Arguments, _ environment: ToolEnvironment) throws {
    folder = arguments.operand(0) ?? "rules"
    let selection = try RulesSelection(folder)
    let old = try Self.source(RulesSelection(arguments.value("baseline") ?? "rules"))
    let new = try Self.source(selection)
    let chosen = arguments.value("plugins")?.split(separator: ",").map(String.init) ?? selection.plugin.map { [$0] }
    baseline = try Self.load(old, worker)
    candidate = try Self.load(try Self.replace(chosen, of: old, by: new, in: folder), worker)
  }

  /// The old rules with the chosen plugins of the new ones; all of the new ones when none are chosen.
  private static func replace(
    _ chosen: [String]?, of old: RulesSource, by new: RulesSource, in folder: String
  ) throws(UsageError) -> RulesSource {
    guard let chosen else { return new }
    let names = new.plugins.map(\.name)
    for name in chosen where !names.contains(name) && !old.plugins.contains(where: { $0.name == name }) {
      throw UsageError(
        "'\(folder)' has no plugin '\(name)'" + NearestName.hint(name, in: names, otherwise: "name one of its folders"))
    }
    return RulesSource(
      plugins: old.plugins.filter { !chosen.contains($0.name) } + new.plugins.filter { chosen.contains($0.name) })
  }

  private static func source(_ selection: RulesSelection) throws(ToolError) -> RulesSource {
    do throws(ReloadError) { return try selection.read() } catch { throw Self.error(error) }
  }

  private static func load(_ source: RulesSource, _ worker: LuaWorker) throws(ToolError) -> Catalog {
    do throws(ReloadError) {
      return try CatalogBuilder.build(
        source, configuration: [:], previous: nil, worker: worker, now: Timestamp(microseconds: 0))
    } catch { throw Self.error(error) }
  }

  private static func error(_ error: ReloadError) -> ToolError {
    ToolError("the rules do not load: " + error.errors.map(\.description).joined(separator: "; "))
  }
}
