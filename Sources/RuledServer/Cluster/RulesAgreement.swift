import Glibc
import RuledCluster
import RuledCore
import RuledEngine
import RuledJSON
import RuledLua
import RuledStore
import RuledThreads
import Synchronization

/// The rules in force of a cluster, which are in its log: an owner serves these, whatever its folder contains.
enum LiveRules {
  private static let content = StoredValue(name: "live_rules")
  private static let name = StoredValue(name: "live_revision")

  /// Adds rules to a commit: from that batch of the log on they are in force.
  static func put(_ revision: RevisionArchive.Revision, into set: WriteSet) {
    name.put(into: set) { $0.append(contentsOf: revision.entry.revision) }
    content.put(into: set) { RevisionDocument.json(revision).write(to: $0) }
  }

  /// The rules in force; nil before the first.
  static func read(from store: any StateStore) throws(StoreError) -> RevisionArchive.Revision? {
    let stored = ByteBuffer(capacity: 4096)
    guard try content.read(from: store, into: stored) else { return nil }
    guard let revision = parse(stored.bytes) else {
      throw StoreError(.corrupt, "the rules in force that the log has are of another form")
    }
    return revision
  }

  /// The revision in force; empty before the first.
  static func revision(in store: any StateStore) throws(StoreError) -> String {
    let stored = ByteBuffer(capacity: 64)
    return try name.read(from: store, into: stored) ? stored.text : ""
  }

  /// The revision of a document.
  static func parse(_ bytes: ByteView) -> RevisionArchive.Revision? {
    (try? JSONValue(parsing: bytes, maximumDepth: RevisionDocument.depth + 2)).flatMap(RevisionDocument.revision)
  }
}

/// Lets the nodes of a cluster agree on rules: the owner offers them, each follower loads what is offered and reports.
final class RulesAgreement: Sendable {
  /// How long the owner waits for the reports of the others, in milliseconds.
  static let timeout = 60_000
  /// How often the owner checks for reports, and a follower for offers, in milliseconds.
  static let (ownerInterval, followerInterval) = (50, 250)

  let settings: ClusterSettings
  let node: ClusterNode
  private let store: RocksStore
  private let log: any EventLog
  /// The configuration with the folder of this node; nil before `use`.
  let configuration = Mutex<Configuration?>(nil)
  private let lock = Condition()
  private nonisolated(unsafe) var isStopping = false  // guarded by `lock`

  /// The agreement as a node with its own store takes part in it.
  init(_ settings: ClusterSettings, node: ClusterNode, store: RocksStore, log: any EventLog) {
    self.settings = settings
    self.node = node
    self.store = store
    self.log = log
  }

  // MARK: The owner

  /// Waits until all other live nodes have loaded the rules; throws an error that names the node which can't, and why.
  ///
  /// `isWaiting` is called at each check, and ends the wait if it returns false.
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

  // MARK: A follower

  /// Loads offered rules and reports on them, and offers those in the folder when it is asked, until `stop`.
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
        let live = try LiveRules.revision(in: store)
        if let (revision, content) = try exchange.offered(live: live) {
          let problem = content.withView { Self.problem(of: $0) }
          problems[revision] = problem.isEmpty ? nil : problem
          if !problem.isEmpty { log.write(LogLine(.error, "this node can't load revision \(revision): \(problem)")) }
          try exchange.report(revision, problem: problem)
        }
        node.setRulesProblem(
          problems[live].map {
            StoreError(.refused, "this node can't take over, as it can't load the rules in force: \($0)")
          })
      } catch {
        hasJoined = hasJoined && error.code != .unreachable
      }
      let _: Void? = lock.wait(milliseconds: Self.followerInterval) { isStopping ? () : nil }
    }
  }

  /// Ends `follow`, after a load that is in progress.
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
}
