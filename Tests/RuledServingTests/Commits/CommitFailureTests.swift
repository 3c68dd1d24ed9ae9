import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledServing

/// What becomes of requests when the store refuses an append or a sync while others are under way.
struct CommitFailureTests {
  @Test(arguments: UInt64(1)...12, [Durability.commit, .interval])
  func `an event is applied once when it is sent until it is acknowledged, whatever fails`(
    seed: UInt64, durability: Durability
  ) throws {
    var random = SeededRandom(seed: seed)
    let store = FaultyStore(MemoryStore())
    let rig = try ServerRig(store: store) { $0.durability = durability }
    defer { rig.stop() }
    let clients = [rig.client(), rig.client()]
    let subjects = 5
    var refused = 0
    var rounds = 0
    while rounds < 5 || (refused == 0 && rounds < 50) {  // how many commits a round takes is up to the threads
      store.failCommit(Int.random(in: 1...6, using: &random))
      var open = Array(0..<60)
      while !open.isEmpty {
        for (number, client) in clients.enumerated() {
          let mine = open.filter { $0 % clients.count == number }
          client.send(mine.map { ServerRig.event("\(rounds)", $0, subject: $0 % subjects) }.joined())
        }
        var failed: [Int] = []
        for (number, client) in clients.enumerated() {
          let replies = client.receive(lines: open.count { $0 % clients.count == number })
          for line in replies.split(separator: "\n") {
            let reply = try JSONValue(parsing: String(line))
            guard let error = reply["error"] else { continue }
            #expect(error["data"]?["code"]?.stringValue == "unavailable")
            failed.append(Int(try #require(reply["id"]?.intValue)))
          }
        }
        refused += failed.count
        open = failed
      }
      rounds += 1
    }
    #expect(refused > 0)
    for subject in 0..<subjects {
      #expect(try ServerRig.count(of: subject, clients[0]) == Int64(rounds * 60 / subjects))
    }
    #expect(rig.commits.hub.last == UInt64(rounds * 60))
  }

  /// The log made room for a batch without its counters and the sequence of its change.
  ///
  /// If the segment had just that room, the worker tried for ever.
  @Test(arguments: [Durability.commit, .interval])
  func `room is made for all that is appended`(durability: Durability) throws {
    let store = FaultyStore(MemoryStore())
    store.requireRoom()
    let rig = try ServerRig(store: store) { $0.durability = durability }
    defer { rig.stop() }
    let client = rig.client()
    for number in 1...4 {
      client.send(ServerRig.event("r", number, subject: number))
      #expect(try JSONValue(parsing: client.receive(lines: 1))["result"] != nil)
    }
    let params = #"{"type":"tell","subject":"s1","data":{"how":"aloud"}}"#
    client.send(#"{"jsonrpc":"2.0","id":5,"method":"event","params":\#(params)}"# + "\n")
    #expect(try JSONValue(parsing: client.receive(lines: 1))["result"] != nil)
    let rooms = store.rooms
    #expect(rooms.missing.count == 5)
    #expect(rooms.made == rooms.missing)
  }

  /// The outbox commits outside the pipeline; `health` said "ready" until the committer looked, a second later.
  @Test func `a commit that fails outside the pipeline degrades the daemon at once`() throws {
    let store = FaultyStore(MemoryStore())
    let rig = try ServerRig(store: store)
    defer { rig.stop() }
    let client = rig.client()
    store.failCommit(1, thenReopens: .max)
    let set = WriteSet()
    set.put(ByteView.empty, ByteView.empty)
    #expect(throws: StoreError.self) { try store.commit(set, durable: true) }
    #expect(HealthReport(rig.services).json["status"] == "degraded")
    client.send(ServerRig.event("r", 1, subject: 1))
    #expect(try JSONValue(parsing: client.receive(lines: 1))["error"]?["data"]?["code"] == "unavailable")
  }
}
