import IOTestSupport
import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledThreads
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledServing

/// Requests that a worker executes in the place of another one that sleeps.
struct BorrowedWorkerTests {
  @Test func `a worker that sleeps can be borrowed, one that works or has ended can not`() throws {
    let rig = try ServerRig()
    let borrowable = rig.borrowable[1]
    #expect(eventually { borrowable.borrow { _ in } })
    let (entered, released) = (Signal<Bool>(), Signal<Bool>())
    rig.services.workers[1].send(
      .wake {
        entered.set(true)
        _ = released.wait()
      })
    _ = entered.wait()
    #expect(!borrowable.borrow { _ in Issue.record("borrowed while at work") })
    released.set(true)
    #expect(eventually { borrowable.borrow { _ in } })
    rig.stop()
    #expect(!borrowable.borrow { _ in Issue.record("borrowed after its end") })
  }

  @Test func `a worker with something in its mailbox can not be borrowed`() throws {
    let services = Services(
      context: EngineContext(
        store: MemoryStore(), clock: EngineClock(), configuration: Configuration(), log: RecordingLog()), workers: 2)
    let commits = CommitPipeline(
      context: services.context, hub: WatchHub(spare: services.context.changeLogs), workers: services.workers)
    let borrowable = services.workers.map { _ in BorrowableWorker() }
    let worker = try Worker(
      index: 1, services: services, commits: commits, borrowable: borrowable, catalog: ServerRig.catalog())
    defer { worker.loop.close() }
    #expect(worker.canBeBorrowed)
    services.workers[1].send(.cascadeEnded(1, isWhole: true))
    #expect(!worker.canBeBorrowed)
  }

  @Test func `a rule that does not end is stopped in a borrowed worker, and the worker's own thread serves on`() throws
  {
    let rig = try ServerRig()
    defer { rig.stop() }
    let (services, workers) = (rig.services, rig.workers)
    let subject = try #require((0...).lazy.map { "s\($0)" }.first { services.worker(for: Array($0.utf8)) == 1 })
    let line = #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"spin","subject":"\#(subject)"}}"#
    let wasBorrowed = eventually {
      let isDone = Signal<Bool>()
      workers.perform(on: 0) { worker in
        // Only if it can be borrowed: three of its own stops in a row would put the subject off.
        isDone.set(
          worker.borrowable[1].borrow { owner in
            let bundle = TextBundle()
            services.inFlight.wrappingAdd(1, ordering: .relaxed)
            Array(line.utf8).withView {
              bundle.add($0, to: ReplyTarget(.worker(0), connection: .max, isAdmin: true), subject: 0)
            }
            owner.serve(bundle, for: worker)
            owner.commit()
          })
      }
      return isDone.wait()
    }
    #expect(wasBorrowed)
    let parked = try StoreListing.parked(services.context, plugin: "p", after: nil, limit: 10).parked
    #expect(!parked.isEmpty)
    let client = rig.client()
    client.send(#"{"jsonrpc":"2.0","id":2,"method":"event","params":{"type":"n","subject":"\#(subject)"}}"# + "\n")
    #expect(client.receive(lines: 1).contains(#""failures":[]"#))
  }

  @Test(arguments: [Durability.commit, .interval])
  func `lone requests and those in bulk are applied once each, while commits fail`(durability: Durability) throws {
    let store = FaultyStore(MemoryStore())
    let rig = try ServerRig(store: store) { $0.durability = durability }
    defer { rig.stop() }
    let subjects = 8
    nonisolated(unsafe) let other = rig.client()
    let bulk = try Thread.start(name: "bulk") {
      for round in 0..<20 {
        var open = Array(0..<40)
        while !open.isEmpty {
          other.send(open.map { ServerRig.event("b\(round)", $0, subject: $0 % subjects) }.joined())
          let replies = other.receive(lines: open.count).split(separator: "\n")
          open = replies.compactMap { Self.refused(String($0)) }
        }
      }
    }
    let client = rig.client()
    for number in 0..<400 {
      if number % 25 == 0 { store.failCommit(3) }
      var isOpen = true
      while isOpen {
        client.send(ServerRig.event("a", number, subject: number % subjects))
        isOpen = Self.refused(client.receive(lines: 1)) != nil
      }
    }
    bulk.join()
    for subject in 0..<subjects {
      #expect(try ServerRig.count(of: subject, client) == Int64(400 + 20 * 40) / Int64(subjects))
    }
  }

  /// The number of an event that was not applied; nil when it was.
  private static func refused(_ line: String) -> Int? {
    guard let reply = try? JSONValue(parsing: line), reply["error"] != nil else { return nil }
    return reply["id"]?.intValue.map { Int($0) }
  }
}
