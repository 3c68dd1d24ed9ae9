import RuledCore
import RuledEngine
import RuledStore
import RuledThreads

/// The part of the engine that evaluates for the owner of the log: workers and a committer over a `ShareStore`.
///
/// It has no clients, sinks or rules' folder of its own. What workers leave to the threads of a daemon is done by the owner, which has it
/// from the submissions.
final class LentEngine {
  /// What the part's threads share.
  let services: Services
  private let catalog: Catalog
  /// Where it commits.
  let store: ShareStore
  /// What it has counted since the owner was last told.
  let counts: UntoldCounts
  private var threads: [Thread] = []

  /// An engine part on the owner's terms, which has not begun to run; `catalog` has the rules in force.
  init(
    _ store: ShareStore, _ shares: Shares, _ terms: ShareTerms, _ node: EvaluatingNode, _ catalog: Catalog,
    replies: OwnerReplies
  ) throws(StoreError) {
    self.store = store
    let clock: EngineClock
    if let time = terms.manualClock {
      clock = EngineClock(manual: Timestamp(microseconds: time))
    } else {
      clock = EngineClock()
      clock.resume(steady: terms.steady)
      clock.follow(Timestamp(microseconds: terms.now))
    }
    let context = EngineContext(store: store, clock: clock, configuration: node.configuration, log: node.log)
    context.journals.store(terms.journals, ordering: .relaxed)
    services = Services(context: context, workers: node.workers, shares: shares, evaluation: replies)
    services.outbox.mailbox.close()
    let (counters, playback) = (context.counters, store.playback)
    counters.follow { [weak replies] in
      if let replies, playback.position() < replies.ownerPosition { playback.awaitPlayed(replies.ownerPosition) }
    }
    playback.observe { counters.notePlayed($0) }
    services.commits.begin(with: try counters.load(from: context))
    services.status.serve(catalog)
    self.catalog = catalog
    counts = UntoldCounts(services.figures, context, catalog)
  }

  /// Starts the threads; `failed` is called when one of them can't run.
  func start(failed: @escaping @Sendable (String) -> Void) throws(SystemError) {
    let (services, catalog) = (services, catalog)
    threads.append(try Thread.start(name: "ruled-commit") { Committer(services: services).run() })
    for index in services.workers.indices {
      threads.append(
        try Thread.start(name: "ruled-\(index)") {
          do throws(SystemError) { try Worker(index: index, services: services, catalog: catalog).run() } catch {
            failed("a worker can't run: \(error)")
          }
        })
    }
  }

  /// Ends the threads; the store must have failed for good, so that none of them waits for the owner.
  func stop() {
    for worker in services.workers { worker.send(.perform { $0.loop.stop() }) }
    services.commits.stop()
    store.playback.observe(nil)
    for thread in threads { thread.join() }
    threads = []
  }
}

/// What a node brings along to evaluate for the owner of the log.
struct EvaluatingNode: Sendable {
  /// The node's name.
  let name: String
  /// The id of its process.
  let incarnation: String
  /// Its configuration.
  let configuration: Configuration
  /// How many workers it runs.
  let workers: Int
  /// Its clients; nil if all go by the owner.
  var clients: OwnClients?
  /// What it plays back.
  let playback: ShareStore.Playback
  /// Its log.
  let log: any EventLog
  /// What is known to be wrong.
  let problems = KnownProblems()
  /// The most bytes of a reply that it sends to the owner.
  var mostReplyBytes = ShareFrame.mostItemBytes
}
