import IOTestSupport
import RuledEngine
import Testing

@testable import RuledServing

@Suite struct TimerTurnTests {
  @Test func `timers that are due together fire in turns, and what else came has its turn between them`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let fired = Signal<Bool>()
    let cascade = Cascade { _ in fired.set(true) }
    let between = Signal<Int>()
    rig.workers.perform(on: 0) { worker in
      for number in 0..<100 {
        cascade.enter()
        let timer = DueTimer(due: 1, subject: Array("s".utf8), plugin: Array("p".utf8), name: Array("t\(number)".utf8))
        worker.handle(.fire(timer, cascade))
      }
      cascade.leave()
      between.set(worker.evaluator.batch.awaited.count)
    }
    #expect(between.wait() == 0)
    #expect(fired.wait())
  }
}
