import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledThreads

/// The thread that watches and reads the rules folder and builds catalogs beside the running one.
///
/// A slow load, because of the disk, of plugins that take the 2 seconds that they may, or of a store that blocks, delays only the next load and the
/// clients that asked for it.
final class RulesLoader {
  let services: Services
  let builder: RulesBuilder
  private let loop: EventLoop
  let path: String
  let readConfiguration: ConfigurationReader
  private var watcher: DirectoryWatcher?
  var catalog: Catalog
  /// The rules in force in place of the folder's, nil while the folder's are.
  var replacing: RulesInPlaceOfFolder?
  var rollout: RolloutState?
  /// The candidate, while a rollout runs.
  var candidate: Catalog?
  /// The revision of this node's folder when the cluster's rules replaced it: as long as the folder has that, only a request loads it.
  var foreignFolder: String?
  /// Counts the candidate's failures from time to time.
  private(set) var rolloutCheck: LoopTimer?

  /// Loads the rules that the daemon starts with, then serves until `Reloads.close`.
  static func run(_ services: Services, readConfiguration: @escaping ConfigurationReader) {
    Thread.Priority.background.apply()
    let loop: EventLoop
    do throws(SystemError) { loop = try EventLoop() } catch {
      return services.reloads.finishStart(.failure(StartError("the daemon can't run: \(error)")))
    }
    defer { loop.close() }
    do throws(StartError) {
      let loader = try RulesLoader(services, on: loop, readConfiguration: readConfiguration)
      services.reloads.finishStart(.success(loader.catalog))
      loop.run()
      services.reloads.requests.close()
    } catch { services.reloads.finishStart(.failure(error)) }
  }

  private init(
    _ services: Services, on loop: EventLoop, readConfiguration: @escaping ConfigurationReader
  ) throws(StartError) {
    self.services = services
    builder = RulesBuilder(services: services)
    self.loop = loop
    self.readConfiguration = readConfiguration
    path = services.configuration.rules
    let (reloads, path) = (services.reloads, path)
    do throws(SystemError) {
      // Before the folder is read, so that no change is missed.
      watcher = try DirectoryWatcher(on: loop, root: path) { reloads.request(.folder) }
    } catch { throw StartError("the rules folder \(path) can't be watched: \(error)") }
    if let watcher, watcher.isTruncated || watcher.failure != nil {
      let reason = watcher.failure?.description ?? "it has too many folders, or they nest too deep"
      services.log.warn("not all of the rules folder is watched, call 'rulectl reload' after a change: \(reason)")
    }
    do throws(StoreError) { try services.context.steps.load(from: services.context.store) } catch {
      throw StartError("what leads states back to earlier versions can't be read from the store: \(error)")
    }
    do throws(StoreError) { try services.agreement?.takeDistributed() } catch {
      services.log.error("revisions of earlier owners may be missing in the archive of this node: \(error)")
    }
    let start = try builder.start()
    (catalog, replacing, rollout, candidate) = (start.catalog, start.replacing, start.rollout, start.candidate)
    foreignFolder = builder.foreignFolder(beside: start.catalog)
    do throws(ReloadError) { try builder.agreeAndCommit(start.catalog) } catch {
      throw StartError("the rules can't come into force: \(error.errors.map(\.description).joined(separator: "\n"))")
    }
    for (rules, origin) in [(catalog, .stored), (candidate, .rollout)] as [(Catalog?, RevisionArchive.Origin)] {
      guard let rules else { continue }
      builder.keep(rules, from: services.revisions.contains(rules.revision) ? nil : origin)
      builder.keepSteps(of: rules)
    }
    services.revisions.resume([catalog, candidate].compactMap { $0?.revision }, now: services.context.clock.now)
    do throws(SystemError) {
      try reloads.requests.attach(to: loop) { [unowned self] in receive($0) }
      rolloutCheck = try LoopTimer(on: loop) { [unowned self] in checkRollout() }
    } catch { throw StartError("the daemon can't run: \(error)") }
    services.status.noteRollout(rollout, nil)
    if let candidate, let rollout { begin(candidate, rollout, earlier: start.earlier) }
  }

  /// Executes all requests that have gathered, with one load.
  private func receive(_ requests: [Reloads.Request]) {
    var (hasChanged, hasClient, readsConfiguration, isOver) = (false, false, false, false)
    // As with this node's folder, one load serves all requests for another node's folder.
    var folders: [String: [ControlCaller]] = [:]
    for request in requests {
      switch request {
      case .folder: hasChanged = true
      case .client: hasClient = true
      case .configuration: readsConfiguration = true
      case .task(.folder(let node), let caller): folders[node, default: []].append(caller)
      case .task(let task, let caller): execute(task, for: [caller])
      case .machines: break
      case .end: isOver = true
      }
    }
    for (node, callers) in folders { execute(.folder(of: node), for: callers) }
    if isOver { return loop.stop() }
    if services.reloads.isEnding { (hasChanged, readsConfiguration) = (false, false) }
    if hasChanged || hasClient || readsConfiguration {
      load(becauseOfChange: hasChanged, readingConfiguration: readsConfiguration)
    }
    // One VM at a time, so that a load that is requested meanwhile comes next.
    if CatalogBuilder.replenish(catalog, worker: builder.lua) { services.reloads.request(.machines) }
  }

  /// Loads the folder, adopts the rules if all of them load, and replies to the clients that asked; they get an error also while the configuration is
  /// refused.
  private func load(becauseOfChange hasChanged: Bool, readingConfiguration: Bool) {
    let hasCallers = services.reloads.beginLoad()
    // Changes of the folder meanwhile are loaded once nothing holds them up any more.
    if folderWaits != nil, !hasCallers, !readingConfiguration { return }
    if let foreignFolder, !hasCallers, !readingConfiguration, (try? RulesFolder.read(path).revision) == foreignFolder {
      return
    }
    notify { $0.reloading() }
    if hasCallers || readingConfiguration { services.rereadToken() }
    let isConfigured = readingConfiguration ? reconfigure() : hasCallers ? reviewConfiguration() : nil
    let isReloading = hasCallers || (folderWaits == nil && (hasChanged || isConfigured != false))
    let result = isReloading ? reload() : nil
    if case .failure? = result {
      services.status.noteReload(isSuccess: false)
    } else {
      services.status.noteReload(isSuccess: isConfigured != false)
    }
    services.outbox.mailbox.send(.reload(services.configuration.sinks))
    notify { $0.ready(status: services.status.line) }
    reply(result)
    if isConfigured == true {
      services.warnOfUnknownNames(catalog)
    }
    switch result {
    case .success(true)?: services.log.info("rules loaded, revision \(catalog.revision)")
    case .failure(let error)? where hasChanged || readingConfiguration:
      for problem in error.errors {
        services.log.error("the rules do not load, the old ones keep serving: \(problem)")
      }
    default: break
    }
  }

  /// Notifies systemd, unless the daemon has begun to end.
  private func notify(_ body: (SystemdNotifier) -> Void) {
    if !services.reloads.isEnding { body(services.notifier) }
  }

  private func reply(_ result: Result<Bool, ReloadError>?) {
    let callers = services.reloads.endLoad()
    guard !callers.isEmpty, let result else { return }
    let revision = catalog.revision
    let refusal =
      services.status.configurationError?.requestError
      ?? services.bearerToken?.problem.map { RequestError(.reloadFailed, $0, details: ["errors": []]) }
    let reply = result.mapError(\.requestError).flatMap { hasChanged -> Result<JSONValue, RequestError> in
      if let refusal { return .failure(refusal) }
      return .success(.object(["revision": .string(revision), "changed": .bool(hasChanged)]))
    }
    for caller in callers { services.reply(reply, to: caller) }
  }
}
