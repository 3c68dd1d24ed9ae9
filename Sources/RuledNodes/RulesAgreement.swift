import Glibc
import RuledCluster
import RuledCore
import RuledEngine
import RuledJSON
import RuledLua
import RuledServing
import RuledStore
import RuledThreads
import Synchronization

/// Lets the nodes of a cluster agree on rules: the owner offers them, each follower loads offered rules and reports, and all archive those that come
/// into force.
final class RulesAgreement: ClusterRules {
  /// How long the owner waits for the reports of the others, in milliseconds.
  static let timeout = 60_000
  /// How often the owner checks for reports, and a follower for offers, in milliseconds.
  static let (ownerInterval, followerInterval) = (50, 250)

  let settings: ClusterSettings
  let node: ClusterNode
  let revisions: RevisionArchive
  private let store: RocksStore
  private let log: any EventLog
  /// The configuration with the folder of this node; nil before `use`.
  let configuration = Mutex<Configuration?>(nil)
  private let lock = Condition()
  private nonisolated(unsafe) var isStopping = false  // guarded by `lock`
  private let archiving = Condition()
  private nonisolated(unsafe) let archiveExchange: RevisionExchange  // guarded by `archiving`

  /// The agreement as a node with its own store takes part in it.
  init(_ settings: ClusterSettings, node: ClusterNode, store: RocksStore, log: any EventLog) {
    self.settings = settings
    self.node = node
    self.store = store
    self.log = log
    revisions = RevisionArchive(folder: "\(store.path)/\(RevisionArchive.folder)")
    archiveExchange = RevisionExchange(settings, identity: node.identity)
  }

  // MARK: The owner

  func agree(on catalog: Catalog, while isWaiting: () -> Bool) throws(ReloadError) {
    let exchange = RevisionExchange(settings, identity: node.identity)
    let end = MonotonicClock.milliseconds + Self.timeout
    do throws(StoreError) {
      try Self.offer(catalog, in: exchange)
      while true {
        let reports = try exchange.reports(on: catalog.revision)
        if let failed = reports.first(where: { !$0.problem.isEmpty }) {
          throw StoreError(
            .refused,
            "node \(failed.node) can't load revision \(catalog.revision), so no node serves it: \(failed.problem)")
        }
        guard let missing = reports.first(where: { !$0.hasTried }) else { return }
        guard isWaiting(), MonotonicClock.milliseconds < end else {
          throw StoreError(
            .refused,
            "node \(missing.node) has not loaded revision \(catalog.revision) in time, so no node serves it: try again, or end that node"
          )
        }
        usleep(UInt32(Self.ownerInterval) * 1000)
      }
    } catch { throw Self.failure(error) }
  }

  static func offer(_ catalog: Catalog, in exchange: RevisionExchange) throws(StoreError) {
    let content = ByteBuffer(capacity: 64 << 10)
    RevisionDocument.json(RevisionArchive.Revision(catalog, from: .folder)).write(to: content)
    try exchange.offer(catalog.revision, content: content.bytes)
  }

  static func failure(_ error: StoreError) -> ReloadError {
    ReloadError([LoadError(file: "", line: 0, error.description)])
  }

  // MARK: Archives

  func distribute(_ revision: String) throws(StoreError) {
    let content = ByteBuffer(capacity: 64 << 10)
    RevisionDocument.json(try revisions.load(revision)).write(to: content)
    try archiving.locked { () throws(StoreError) in try archiveExchange.distribute(revision, content: content.bytes) }
  }

  func takeDistributed() throws(StoreError) {
    try archiving.locked { () throws(StoreError) in
      try archiveExchange.takeLater { (content) throws(StoreError) in
        if let revision = LiveRules.parse(content) { try revisions.take(revision) }
      }
    }
  }

  // MARK: A follower

  /// Loads offered rules and reports on them, archives those that come into force, and offers the folder's when it is asked, until `stop`.
  func follow() {
    let exchange = RevisionExchange(settings, identity: node.identity)
    var hasJoined = false
    var problems: [String: String] = [:]
    while !lock.locked({ isStopping }) {
      do throws(StoreError) {
        if !hasJoined {
          try exchange.join()
          hasJoined = true
        }
        try answerFolderRequest(exchange)
        try takeDistributed()
        let live = try LiveRules.revision(in: store)
        if let (revision, content) = try exchange.offered(live: live) {
          let problem = content.withView { Self.problem(of: $0) }
          problems[revision] = problem.isEmpty ? nil : problem
          if !problem.isEmpty { log.error("this node can't load revision \(revision): \(problem)") }
          try exchange.report(revision, problem: problem)
        }
        node.setRulesProblem(
          problems[live].map {
            StoreError(.refused, "this node can't take over, as it can't load the rules in force: \($0)")
          })
      } catch { hasJoined = hasJoined && error.code != .unreachable }
      let _: Void? = lock.wait(milliseconds: Self.followerInterval) { isStopping ? () : nil }
    }
  }

  /// Ends `follow`, after the load in progress.
  func stop() { lock.signal { isStopping = true } }

  /// Why rules can't be loaded here, as one line; empty if they can.
  private static func problem(of content: ByteView) -> String {
    guard let revision = LiveRules.parse(content) else { return "its content can't be read by this version of ruled" }
    do throws(ReloadError) {
      let catalog = try CatalogBuilder.build(
        revision.rules, configuration: revision.configuration, previous: nil, worker: LuaWorker(), now: EngineClock.wall
      )
      return catalog.revision == revision.entry.revision ? "" : "it is revision \(catalog.revision) here"
    } catch { return error.errors.map(\.description).joined(separator: "; ") }
  }

  // MARK: Rules from the folder of a node that follows: the owner asks for them, and the node offers them

  func folder(of name: String, while isWaiting: () -> Bool) throws(ReloadError) -> RevisionArchive.Revision {
    let exchange = RevisionExchange(settings, identity: node.identity)
    let answer: FolderAnswer
    do throws(StoreError) { answer = try ask(name, exchange, while: isWaiting) } catch { throw Self.failure(error) }
    let revision = try answer.get()
    do throws(StoreError) {
      guard let content = try exchange.content(of: revision), let found = content.withView(LiveRules.parse) else {
        throw StoreError(.refused, "node \(name) offers revision \(revision), which this version of ruled can't read")
      }
      return found
    } catch { throw Self.failure(error) }
  }

  /// The revision under which a node offers the rules of its folder, or why it can't.
  private typealias FolderAnswer = Result<String, ReloadError>

  private static func read(_ text: String) -> FolderAnswer? {
    guard let json = try? JSONValue(parsing: text) else { return nil }
    return json["revision"]?.stringValue.map { .success($0) }
      ?? json["errors"].flatMap(ReloadError.init(json:)).map { .failure($0) }
  }

  private func ask(
    _ name: String, _ exchange: RevisionExchange, while isWaiting: () -> Bool
  ) throws(StoreError) -> FolderAnswer {
    guard let request = try exchange.askForFolder(of: name) else {
      throw StoreError(
        .refused,
        "node \(name) can't be asked for its rules folder: it does not follow, or has an earlier version of ruled"
      )
    }
    let end = MonotonicClock.milliseconds + Self.timeout
    while true {
      let (text, isAlive) = try exchange.answer(to: request)
      if let text {
        guard let answer = Self.read(text) else {
          throw StoreError(.refused, "node \(name) answers what this version of ruled can't read")
        }
        return answer
      }
      guard isAlive, isWaiting(), MonotonicClock.milliseconds < end else {
        try exchange.withdraw(request)
        throw StoreError(
          .refused,
          isAlive
            ? "node \(name) has not offered the rules in its folder in time: try again"
            : "node \(name) has ended meanwhile")
      }
      usleep(UInt32(Self.ownerInterval) * 1000)
    }
  }

  /// Offers the folder of `configuration` from now on, with the settings of its plugins.
  func use(_ configuration: Configuration) { self.configuration.withLock { $0 = configuration } }

  /// Answers a request for the rules in the folder of this node, if there is one.
  func answerFolderRequest(_ exchange: RevisionExchange) throws(StoreError) {
    guard let configuration = configuration.withLock({ $0 }), let request = try exchange.folderRequest() else { return }
    let answer: JSONValue
    do throws(ReloadError) {
      answer = ["revision": .string(try Self.offerFolder(of: configuration, in: exchange))]
    } catch { answer = ["errors": error.json] }
    try exchange.answer(request, answer.text)
  }

  /// Offers the rules in a folder, with the settings of their plugins; returns their revision.
  private static func offerFolder(
    of configuration: Configuration, in exchange: RevisionExchange
  ) throws(ReloadError) -> String {
    let catalog = try CatalogBuilder.build(
      try RulesFolder.read(configuration.rules), configuration: configuration.plugins, previous: nil,
      worker: LuaWorker(), checksFiles: true, now: EngineClock.wall)
    do throws(StoreError) { try offer(catalog, in: exchange) } catch { throw failure(error) }
    return catalog.revision
  }
}
