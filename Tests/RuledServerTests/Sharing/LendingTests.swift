import Glibc
import RuledEngine
import RuledThreads
import TestSupport
import Testing

@testable import RuledServer

/// What other threads ask of the lending of subjects.
struct LendingTests {
  @Test(arguments: [
    ([:], true), (["b": 128], true), (["b": 85, "c": 85], true), (["b": 51, "c": 51, "d": 51, "e": 51], true),
    (["b": 85, "c": 84], false), (["b": 128, "c": 0], false),
  ])
  func `Shares are even up to what is left over`(_ nodes: [String: Int], _ isEven: Bool) {
    #expect(Lending.Overview(nodes: nodes).isEven == isEven)
  }

  @Test func `Rebalancing takes all subjects back, and ends when the nodes have their shares`() throws {
    let lending = Lending(position: { 0 }, leaseLeft: { 1000 })
    let mayLend = lending.beginLending()
    #expect(mayLend)
    lending.publish(Lending.Overview(nodes: ["b": 200], moves: 1))
    let caller = try Thread(name: "caller") { lending.rebalance() }
    while !lending.isHeld { usleep(1000) }
    #expect(!lending.beginLending())
    lending.publish(Lending.Overview(nodes: ["b": 0], moves: 2))
    lending.noteAllHere()
    while lending.isHeld { usleep(1000) }
    let lendsAgain = lending.beginLending()
    #expect(lendsAgain)
    lending.publish(Lending.Overview(nodes: ["b": 128], moves: 3))
    caller.join()
    #expect(lending.overview.isEven)
  }

  @Test func `Subjects are lent again once what needed all of them is durable, though nothing else happens`() throws {
    let rig = try SharingRig()
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let moves = rig.lending.overview.moves
    let worker = rig.owner.services.workers[0]
    rig.owner.services.withAllSubjects { hold in
      let cascade = Cascade { withExtendedLifetime(hold) {} }
      worker.send(.perform { $0.evaluator.batch.awaited.append(cascade) })
    }
    let areBack = eventually {
      let overview = rig.lending.overview
      return overview.moves > moves && overview.nodes["b"] == 128
    }
    #expect(areBack)
  }

  @Test func `A node is not taken for silent because the owner itself did not look`() throws {
    let rig = try SharingRig()
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let moves = rig.lending.overview.moves
    rig.log.stall.store(2_500, ordering: .relaxed)
    #expect(eventually { rig.log.stall.load(ordering: .relaxed) == 0 })
    usleep(4_000_000)
    #expect(rig.lending.overview.moves == moves && rig.lent == 128)
    #expect(!rig.owner.log.text.contains("does not evaluate any more"))
  }

  @Test func `Rebalancing has nothing to wait for where no other node takes part`() {
    Lending(position: { 0 }, leaseLeft: { 1000 }).rebalance()
  }
}
