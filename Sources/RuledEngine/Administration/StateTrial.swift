package import RuledCore
package import RuledLua
package import RuledStore

/// Checks for each stored state whether rules could go on with it: runs their steps and compares the shape, without changing anything.
package final class StateTrial {
  /// The results of the states of one plugin and version.
  package struct Result: Sendable {
    package let plugin: String
    /// The version that the states are stored with.
    package let from: Int
    package fileprivate(set) var fit = 0
    package fileprivate(set) var failed = 0
    /// Why they failed, the first reasons first.
    package fileprivate(set) var reasons: [Reason] = []
  }

  package struct Reason: Sendable {
    package let message: String
    package fileprivate(set) var count = 0
    /// The first subjects that it concerns.
    package fileprivate(set) var subjects: [String] = []
  }

  /// The most reasons for one plugin and version, and the most subjects that are named for each.
  fileprivate static let (mostReasons, mostSubjects) = (50, 5)

  package private(set) var results: [Result] = []
  private let context: EngineContext
  private let plugins: WorkerPlugins
  private let migration: StateMigration

  package init(
    _ catalog: Catalog, on store: any StateStore, lua: LuaWorker, configuration: Configuration = .init()
  ) throws(StoreError) {
    context = EngineContext(store: store, clock: EngineClock(), configuration: configuration, log: NoLog())
    try context.steps.load(from: store)
    plugins = WorkerPlugins(catalog, lua: lua)
    migration = StateMigration(context, plugins: plugins)
  }

  package func run(progress: (_ subjects: Int) -> Void) throws(StoreError) {
    var subjects = 0
    var damage: StoreError?
    try context.store.scan(prefix: StoreKey.prefix(.record)) { key, value in
      guard case .record(let subject)? = try? ParsedKey(key) else { return true }
      do throws(StoreError) {
        try SubjectRecordView(value).forEachPlugin { name, state in test(name, state, of: subject) }
      } catch {
        damage = error
        return false
      }
      subjects += 1
      progress(subjects)
      return true
    }
    if let damage { throw damage }
    results.sort { ($0.plugin, $0.from) < ($1.plugin, $1.from) }
  }

  private func test(_ name: ByteView, _ state: PluginState, of subject: ByteView) {
    guard let plugin = plugins.catalog.plugins.first(where: { ByteOrder.equal($0.nameBytes, name) }) else { return }
    let index = results.firstIndex { $0.plugin == plugin.name && $0.from == state.version } ?? results.endIndex
    if index == results.endIndex { results.append(Result(plugin: plugin.name, from: state.version)) }
    do throws(Failure) {
      _ = try migration.migrate(state, of: plugin, subject: subject, now: context.clock.now.microseconds)
      results[index].fit += 1
    } catch {
      results[index].failed += 1
      results[index].note(error, of: subject)
    }
  }
}

extension StateTrial.Result {
  fileprivate mutating func note(_ failure: Failure, of subject: ByteView) {
    var message = failure.message + (failure.file.map { " (at \($0):\(failure.line ?? 0))" } ?? "")
    var index = reasons.firstIndex { $0.message == message } ?? reasons.endIndex
    if index >= StateTrial.mostReasons {
      message = "other reasons"
      index = reasons.firstIndex { $0.message == message } ?? reasons.endIndex
    }
    if index == reasons.endIndex { reasons.append(StateTrial.Reason(message: message)) }
    reasons[index].count += 1
    if reasons[index].subjects.count < StateTrial.mostSubjects {
      reasons[index].subjects.append(subject.text)
    }
  }

  /// The result as `rulectl migrate --check --json` prints it.
  package var json: JSONValue {
    .object([
      "plugin": .string(plugin), "from": .integer(Int64(from)), "fit": .integer(Int64(fit)),
      "failed": .integer(Int64(failed)),
      "reasons": .array(
        reasons.map { reason in
          .object([
            "message": .string(reason.message), "count": .integer(Int64(reason.count)),
            "subjects": .array(reason.subjects.map { .string($0) }),
          ])
        }),
    ])
  }
}
