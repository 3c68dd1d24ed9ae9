import RuledCore
import RuledEngine
import RuledLua
import RuledStore

extension Control {
  /// Something in the rules folder changed.
  func folderChanged() {
    switch reload() {
    case .success(let changed):
      guard changed else { return }
      services.context.log.write(LogLine(.info, "rules loaded, revision \(catalog.revision)"))
    case .failure(let error):
      for problem in error.errors {
        services.context.log.write(LogLine(.error, "the rules do not load, the old ones keep serving: \(problem)"))
      }
    }
  }

  /// The answer to `reload`.
  func reloadResult() -> Result<JSONValue, RequestError> {
    reload().map { .object(["revision": .string(catalog.revision), "changed": .bool($0)]) }.mapError(\.requestError)
  }

  /// Loads the folder beside the running rules and puts it in force when it loads whole; answers whether anything changed.
  private func reload() -> Result<Bool, ReloadError> {
    services.notifier.reloading()
    defer {
      services.outbox.reload(services.configuration.sinks)
      services.notifier.ready(status: services.status.line)
    }
    let previous = catalog
    let next: Catalog
    do throws(ReloadError) {
      next = try CatalogBuilder.build(
        try RulesFolder.read(rulesPath), configuration: services.configuration.plugins, previous: previous,
        worker: lua, now: services.context.clock.now)
    } catch {
      services.status.reload(error)
      return .failure(error)
    }
    services.status.reload(nil)
    guard next.revision != previous.revision else {
      services.status.serve(previous)
      for plugin in previous.plugins where plugin.runtime.isSuspended { plugin.runtime.resume() }
      return .success(false)
    }
    putInForce(next)
    let old = Dictionary(uniqueKeysWithValues: previous.plugins.map { ($0.name, $0.generation) })
    retryParked(of: next.plugins.filter { old[$0.name] != $0.generation }.map(\.name))
    return .success(true)
  }

  private func putInForce(_ next: Catalog) {
    catalog = next
    services.status.serve(next)
    KeptRules.keep(next.source, in: services.context.store)
    for worker in services.workers { _ = worker.send(.perform { $0.evaluator.adopt(next) }) }
  }

  /// Tries what is parked for plugins that have changed, once.
  private func retryParked(of plugins: [String]) {
    guard !plugins.isEmpty else { return }
    for worker in services.workers { _ = worker.send(.perform { $0.inbox.retry(Set(plugins)) }) }
  }
}

/// The last revision that loaded, kept in the store, so that a start with rules that don't load has something to serve.
enum KeptRules {
  private static let value = KeptValue(name: "rules")

  /// Keeps a revision.
  static func keep(_ source: RulesSource, in store: any StateStore) {
    value.keep(in: store, durable: false) { source.encoded.write(to: $0) }
  }

  /// The revision that was kept last.
  static func read(from store: any StateStore) -> RulesSource? {
    guard let kept = value.read(from: store), let json = try? JSONValue(parsing: kept.bytes) else { return nil }
    return RulesSource(encoded: json)
  }
}
