internal import RuledCore
internal import RuledEngine
internal import RuledLua
internal import RuledReports
internal import RuledStore

enum MigrateCommand: Command {
  static let spec = CommandSpec(
    "migrate", "Tries the steps of changed rules on every state that the daemon's store has.",
    synopsis: ["--check [DIR] [--json]"], optional: 1, completes: .folders,
    options: [
      OptionSpec("check", "Changes nothing, and says how many states fit, how many fail, and why."), .json,
    ],
    details: """
      DIR is the rules folder, 'rules' by default. Each state of a subject is brought to the version that its plugin
      declares in DIR, and compared with the shape there, on a checkpoint of the store, while the daemon serves. The
      daemon itself migrates a state with the next event of its subject. Run it as root or as the daemon's user on the
      daemon's host. The exit code is 1 when a state fails.
      """,
    examples: [.init("rulectl migrate --check rules", "before rules with another version of a state are loaded")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    guard arguments.has("check") else {
      throw UsageError("a state is migrated with the next event of its subject; write --check to try the steps on all")
    }
    let selection = try RulesSelection(arguments.operands)
    let client = try environment.connect()
    let revision = try client.call("rules", [:]).member("revision")?.stringValue
    let trial = try Checkpoint.use(client) { path, _ in try attempt(selection, on: path, revision, environment) }
    environment.show(["plugins": .array(trial.results.map(\.json))], arguments) { _ in
      text(trial.results, environment.style)
    }
    return trial.results.contains { $0.failed > 0 } ? .no : .done
  }

  private static func attempt(
    _ selection: RulesSelection, on checkpoint: String, _ revision: String?, _ environment: ToolEnvironment
  ) throws -> StateTrial {
    let archive = RevisionArchive(folder: "\(checkpoint)/\(RevisionArchive.folder)", toRead: true)
    let configuration = revision.flatMap { try? archive.load($0).configuration } ?? [:]
    let lua = LuaWorker()
    let catalog = try CatalogBuilder.build(
      try selection.read(), configuration: configuration, previous: nil, worker: lua, now: EngineClock.wall)
    let store = try RocksStore(path: checkpoint, blockCacheBytes: 8 << 20)
    defer { try? store.close() }
    let trial = try StateTrial(catalog, on: store, lua: lua)
    var progress = Progress(environment)
    defer { progress.clear() }
    try trial.run { progress.show(share: nil, count: $0, "subject") }
    return trial
  }

  private static func text(_ results: [StateTrial.Result], _ style: Style) -> String {
    guard !results.isEmpty else { return "no plugin of these rules has a state\n" }
    let table = Table(["PLUGIN", ">FROM", ">FIT", ">FAILED"]).rows(results) {
      [$0.plugin, "\($0.from)", "\($0.fit)", "\($0.failed)"]
    }
    let reasons = results.flatMap { result in
      result.reasons.map { reason in
        let others = reason.count > reason.subjects.count ? ", …" : ""
        let subjects = reason.subjects.map(\.printable).joined(separator: ", ") + others
        return "\n\(style.bold(result.plugin)): \(Figures.count(reason.count, "state")): \(reason.message.printable)\n"
          + "  \(subjects)\n"
      }
    }
    return table.text(style) + reasons.joined()
  }
}
