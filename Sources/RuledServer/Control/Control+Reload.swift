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
    KeptRules.keep(next.source, in: services.context)
    for worker in services.workers { _ = worker.send(.perform { $0.evaluator.adopt(next) }) }
  }

  /// Tries what is parked for plugins that have changed, once.
  private func retryParked(of plugins: [String]) {
    for plugin in plugins {
      do throws(RequestError) {
        for key in try parkedKeys(of: plugin) {
          _ = services.workers[services.owner(of: key.subject)].send(
            .perform { worker in
              if case .failure(let error) = worker.retry(key) { worker.services.notRetried(error, plugin) }
            })
        }
      } catch { services.notRetried(error, plugin) }
    }
  }
}

/// The last revision that loaded, kept in the store, so that a start with rules that don't load has something to serve.
enum KeptRules {
  private static let value = KeptValue(name: "rules")

  /// Keeps a revision.
  static func keep(_ source: RulesSource, in context: EngineContext) {
    value.keep(in: context, durable: false) { source.encoded.write(to: $0) }
  }

  /// The revision that was kept last; nil when there is none.
  static func read(from store: any StateStore) throws(StoreError) -> RulesSource? {
    let kept = ByteBuffer(capacity: 4096)
    guard try value.read(from: store, into: kept) else { return nil }
    guard let json = try? JSONValue(parsing: kept.bytes), let source = RulesSource(encoded: json) else {
      throw StoreError(.corrupt, "the rules that the store keeps have another form")
    }
    return source
  }
}

extension Services {
  /// Tells that parked events of a plugin that changed stay parked.
  fileprivate func notRetried(_ error: RequestError, _ plugin: String) {
    context.log.write(
      LogLine(
        .warn, "parked events could not be tried again, rulectl retry does it: \(error.message)", plugin: plugin))
  }
}
