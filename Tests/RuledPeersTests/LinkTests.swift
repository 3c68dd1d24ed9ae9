import Glibc
import RuledCore
import Synchronization
import TestSupport
import Testing

@testable import RuledPeers

/// What a link that stands carries, and how much.
@Suite struct LinkTests {
  @Test func `requests are answered by the node that was asked`() throws {
    let asking = Journal<String>()
    let rig = try PeerRig { batch, reply in
      asking.add(reply.node)
      for index in 0..<batch.count { reply.answer(index, batch[index]) }
    }
    #expect(rig.waitForLink())
    #expect(rig.send(["one", "", "three"]) == .accepted)
    #expect(eventually { rig.answers.items.count == 3 })
    #expect(rig.answers.items == [.answered("one"), .answered(""), .answered("three")])
    #expect(asking.items == ["a"] && rig.notesOfB.items == [.joined(node: "a")])
  }

  @Test func `an answer does not wait for those of earlier batches`() throws {
    let held = Journal<PeerReply>()
    let rig = try PeerRig { batch, reply in
      if ByteOrder.equal(batch[0], ByteView("slow")) { held.add(reply) } else { reply.answer(0, batch[0]) }
    }
    #expect(rig.waitForLink())
    rig.send(["slow"])
    rig.send(["fast"])
    #expect(eventually { rig.answers.items == [.answered("fast")] })
    held.items[0].answer(0, ByteView("slow"))
    #expect(eventually { rig.answers.items == [.answered("fast"), .answered("slow")] })
  }

  @Test func `refused, given up and dropped requests are told apart`() throws {
    let rig = try PeerRig { batch, reply in
      reply.refuse(0)
      reply.giveUp(1)
      reply.answer(2, batch[2])
    }
    #expect(rig.waitForLink())
    rig.send(["a", "b", "c", "d"])
    #expect(eventually { rig.answers.items.count == 4 })
    #expect(
      rig.answers.items == [.overloaded, .unavailable(wasSent: true), .answered("c"), .unavailable(wasSent: true)])
  }

  @Test func `large batches pass whole`() throws {
    var patient = PeerRig.limits
    patient.silenceMilliseconds = 20_000
    let rig = try PeerRig(limitsOfA: patient, limitsOfB: patient)
    #expect(rig.waitForLink())
    let requests = (0..<40).map { String(repeating: Character(UnicodeScalar(UInt8(65 + $0 % 26))), count: 1 << 20) }
    #expect(rig.send(requests) == .accepted)
    #expect(eventually { rig.answers.items.count == 40 })
    #expect(rig.answers.items == requests.map(Heard.answered))
    #expect(rig.linkings == 1)
  }

  @Test(arguments: [true, false])
  func `too much unanswered is overloaded on the side that notices, and passes again later`(byAsker: Bool) throws {
    let held = Journal<(PeerBatch, PeerReply)>()
    var small = PeerRig.limits
    small.unansweredRequests = 4
    let rig = try PeerRig(limitsOfA: byAsker ? small : PeerRig.limits, limitsOfB: byAsker ? PeerRig.limits : small) {
      held.add(($0, $1))
    }
    #expect(rig.waitForLink())
    #expect(rig.send(["a", "b", "c"]) == .accepted)
    #expect(eventually { held.items.count == 1 })
    let second = rig.send(["d", "e"])
    if byAsker {
      #expect(second == .overloaded)
    } else {
      #expect(eventually { rig.answers.items == [.overloaded, .overloaded] })
    }
    let (batch, reply) = held.items[0]
    for index in 0..<3 { reply.answer(index, batch[index]) }
    #expect(eventually { rig.answers.items.count { if case .answered = $0 { true } else { false } } == 3 })
    #expect(rig.send(["d", "e"]) == .accepted)
    #expect(eventually { held.items.count == 2 })
    #expect(held.items[1].0.count == 2)
  }

  @Test func `too many bytes are overloaded`() throws {
    var small = PeerRig.limits
    small.unansweredBytes = 1000
    let rig = try PeerRig(limitsOfA: small)
    #expect(rig.waitForLink())
    #expect(rig.send([String(repeating: "x", count: 997)]) == .overloaded)
    #expect(rig.send([String(repeating: "x", count: 996)]) == .accepted)
    #expect(eventually { rig.answers.items.count == 1 })
  }

  @Test func `an answer that no frame can hold is none, and the link stays`() throws {
    var small = PeerRig.limits
    small.frameBytes = 1000
    let rig = try PeerRig(limitsOfA: small, limitsOfB: small) { batch, reply in
      for index in 0..<batch.count {
        String(repeating: "x", count: Int(String(decoding: batch[index], as: UTF8.self)) ?? 0).withView {
          reply.answer(index, $0)
        }
      }
    }
    #expect(rig.waitForLink())
    rig.send(["982", "983", "1"])
    #expect(eventually { rig.answers.items.count == 3 })
    #expect(
      rig.answers.items == [
        .answered(String(repeating: "x", count: 982)), .unavailable(wasSent: true), .answered("x"),
      ])
    #expect(rig.linkings == 1)
  }

  @Test func `a slow reader of answers slows its peer down, and misses none`() throws {
    var limits = PeerRig.limits
    limits.silenceMilliseconds = 20_000
    limits.unsentBytes = 1 << 20
    let taken = Atomic(0)
    let rig = try PeerRig(limitsOfA: limits, limitsOfB: limits) { batch, reply in
      taken.wrappingAdd(1, ordering: .relaxed)
      for index in 0..<batch.count { reply.answer(index, batch[index]) }
    }
    #expect(rig.waitForLink())
    rig.relay.pass(.there)
    let request = String(repeating: "x", count: 100_000)
    for _ in 0..<400 { #expect(rig.send([request]) == .accepted) }
    // Node b stops to read, with part of the requests in the buffers of the system.
    var last = -1
    #expect(
      eventually {
        usleep(200_000)
        defer { last = taken.load(ordering: .relaxed) }
        return last > 0 && taken.load(ordering: .relaxed) == last
      })
    #expect(taken.load(ordering: .relaxed) < 400)
    rig.relay.pass(.both)
    #expect(eventually { rig.answers.items.count == 400 })
    #expect(rig.answers.items.allSatisfy { $0 == .answered(request) } && rig.linkings == 1)
  }
}
