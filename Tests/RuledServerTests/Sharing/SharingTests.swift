import Glibc
import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledServer

/// An owner of a log and a node that evaluates for it, over real frames.
@Suite struct SharingTests {
  /// Rules that send a message for each event, to a subject that may be elsewhere.
  private static let rules = """
    plugin { name = "p", version = "1" }
    rule "count" { on = "n", run = function(event, state)
      state.n = (state.n or 0) + 1
      state.last = event.data.number
      decide("n", state.n)
      count("p.events", { odd = event.data.number % 2 == 1 })
    end }
    rule "pass" { on = "pass", run = function(event, state)
      state.passed = (state.passed or 0) + 1
      if event.data.left > 0 then send(event.data.to, "pass", { left = event.data.left - 1, to = event.subject }) end
    end }
    query "n" (function(state) return { n = state and state.n or 0, last = state and state.last, passed = state and state.passed or 0 } end)
    """

  private static func event(_ id: String, type: String = "n", _ subject: Int, _ data: String) -> String {
    #"{"jsonrpc":"2.0","id":"\#(id)","method":"event","params":"#
      + #"{"type":"\#(type)","subject":"s\#(subject)","id":"\#(id)","data":\#(data)}}"# + "\n"
  }

  private static func state(of subject: Int, _ client: Client) throws -> JSONValue? {
    client.send(#"{"jsonrpc":"2.0","id":1,"method":"query","params":{"subject":"s\#(subject)","name":"p.n"}}"# + "\n")
    return try JSONValue(parsing: client.receive(lines: 1))["result"]
  }

  @Test func `half of the partitions are lent, and all events are counted once and in order`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    for round in 0..<20 {
      client.send((0..<50).map { Self.event("\(round)-\($0)", $0, #"{"number":\#(round)}"#) }.joined())
    }
    let replies = client.receive(lines: 1000)
    #expect(!replies.contains("error"), "\(replies.split(separator: "\n").first { $0.contains("error") } ?? "")")
    for subject in 0..<50 {
      let state = try Self.state(of: subject, client)
      #expect(state?["n"]?.intValue == 20)
      #expect(state?["last"]?.intValue == 19)
    }
    client.send(Self.event("0-0", 0, #"{"number":0}"#) + Self.event("0-1", 1, #"{"number":0}"#))
    #expect(client.receive(lines: 2).matches(of: /"duplicate":true/).count == 2)
    let counters = rig.owner.services.context.counters.select(prefix: "p.events").map(\.value)
    #expect(counters == [.integer(500), .integer(500)])
    #expect(rig.lending.overview.moves > 0)
  }

  @Test func `subjects come and go under load, and each event counts once and in order`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    let isOver = Atomic(false)
    let lending = rig.lending
    let moves = try Thread.start(name: "moves") {
      while !isOver.load(ordering: .relaxed) {
        do {
          let hold = lending.takeBackAndWait()
          usleep(5_000)
          withExtendedLifetime(hold) {}
        }
        usleep(300_000)
      }
    }
    let client = rig.owner.client()
    let rounds = 200
    for round in 0..<rounds {
      client.send((0..<50).map { Self.event("\(round)-\($0)", $0, #"{"number":\#(round)}"#) }.joined())
      let replies = client.receive(lines: 50)
      #expect(!replies.contains("error"), "\(replies.split(separator: "\n").first { $0.contains("error") } ?? "")")
      usleep(10_000)
    }
    isOver.store(true, ordering: .relaxed)
    moves.join()
    for subject in 0..<50 {
      let state = try Self.state(of: subject, client)
      #expect(state?["n"]?.intValue == Int64(rounds))
      #expect(state?["last"]?.intValue == Int64(rounds - 1))
    }
    #expect(rig.lending.overview.moves > 8)
  }

  @Test func `messages reach subjects elsewhere, and who waits for the cascade sees its end`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    for first in 0..<16 {
      client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"pass","subject":"s\#(first)","wait":"cascade","#
          + #""data":{"left":9,"to":"s\#(first + 16)"}}}"# + "\n")
      let reply = client.receive(lines: 1)
      #expect(!reply.contains("pending") && !reply.contains("error"), "\(reply)")
      #expect(try Self.state(of: first, client)?["passed"]?.intValue == 5)
      #expect(try Self.state(of: first + 16, client)?["passed"]?.intValue == 5)
    }
  }

  @Test func `a node that is lost loses nothing that was acknowledged, and the owner evaluates for its subjects`()
    throws
  {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    let client = rig.owner.client()
    var acknowledged = [Int](repeating: 0, count: 50)
    var sent = 0
    for _ in 0..<3 {
      #expect(eventually { rig.lent == 128 })
      for turn in 0..<60 {
        if turn == 30 { rig.leave() }
        for subject in 0..<50 { client.send(Self.event("\(sent)-\(subject)", subject, #"{"number":\#(sent)}"#)) }
        var open = Set(0..<50)
        while !open.isEmpty {
          let lines = client.receive(lines: open.count).split(separator: "\n")
          var again = Set<Int>()
          for line in lines where line.contains(#""error""#) {
            #expect(line.contains("unavailable") || line.contains("outcome_unknown"), "\(line)")
            let id = try JSONValue(parsing: String(line))["id"]?.stringValue ?? ""
            again.insert(Int(id.split(separator: "-").last ?? "") ?? 0)
          }
          for subject in again.sorted() {
            client.send(Self.event("\(sent)-\(subject)", subject, #"{"number":\#(sent)}"#))
          }
          open = again
        }
        for subject in 0..<50 { acknowledged[subject] += 1 }
        sent += 1
      }
      #expect(eventually { rig.lent == 0 })
      rig.join()
    }
    for subject in 0..<50 {
      #expect(try Self.state(of: subject, client)?["n"]?.intValue == Int64(acknowledged[subject]))
    }
  }
}
