import Glibc
import IOTestSupport
import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

/// The loader's thread, and what it must not delay.
struct RulesLoaderTests {
  private let folder = TemporaryFolder()

  private func write(_ version: Int) {
    folder.write("rules/p/plugin.lua", "plugin { name = 'p', version = '\(version)' }")
  }

  private static let caller = ControlCaller(
    id: nil, target: ReplyTarget(.worker(0), connection: 0, isAdmin: true))

  private func services(_ store: any StateStore) -> Services {
    folder.makeFolder("rules")
    folder.makeFolder("rules/p")
    write(1)
    var configuration = Configuration()
    configuration.rules = folder("rules")
    return Services(
      context: EngineContext(store: store, clock: EngineClock(), configuration: configuration, log: RecordingLog()),
      workers: 1)
  }

  private func start(_ services: Services) throws -> Thread {
    try Thread.start(name: "loader") {
      RulesLoader.run(services) { () throws(StartError) in services.configuration }
    }
  }

  @Test func `a store that blocks delays the replies to reloads and nothing else`() throws {
    let isStill = Atomic<Bool>(false)
    let released = Signal<Bool>()
    let steps = Mutex<[String]>([])
    let services = services(
      ForgetfulStore {
        guard isStill.load(ordering: .acquiring) else { return }
        _ = released.wait()
        steps.withLock { $0.append("the loader used the store") }
      })
    let thread = try start(services)
    let first = try services.reloads.awaitFirst()
    services.reloads.serve()
    isStill.store(true, ordering: .releasing)
    write(2)
    #expect(services.reloads.add(Self.caller))
    #expect(eventually { services.status.catalog?.revision != first.revision })
    #expect(eventually { !services.workers[0].isEmpty })
    #expect(services.reloads.add(Self.caller))
    #expect(services.reloads.refuse().count == 2)
    #expect(!services.reloads.add(Self.caller))
    let begun = Signal<Bool>()
    let closing = try Thread.start(name: "closing") {
      begun.set(true)
      services.reloads.close()
      steps.withLock { $0.append("the store may be closed") }
    }
    _ = begun.wait()
    released.set(true)
    closing.join()
    thread.join()
    #expect(steps.withLock { $0.last } == "the store may be closed", "it would be closed while the loader uses it")
  }

  @Test func `rules that do not load fail the start with the file's name if the store has no earlier ones`() throws {
    let services = services(MemoryStore())
    mkfifo(folder("rules/p/d.json"), 0o644)
    let thread = try start(services)
    do throws(StartError) {
      _ = try services.reloads.awaitFirst()
      Issue.record("the daemon started")
    } catch { #expect(error.description.contains("p/d.json: is a FIFO")) }
    services.reloads.close()
    thread.join()
  }
}
