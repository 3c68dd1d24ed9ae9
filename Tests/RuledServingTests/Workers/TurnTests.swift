import IOTestSupport
import RuledCore
import RuledIO
import Testing

@testable import RuledServing

@Suite struct TurnTests {
  @Test func `bundles that come when the turn of the tick is over wait for the next`() throws {
    let rig = try ServerRig(
      rules: #"plugin { name = "p", version = "1" } query "q" (function() return { n = 1 } end)"#)
    defer { rig.stop() }
    let waits = Signal<[Bool]>()
    rig.workers.perform(on: 0) { worker in
      let line = Array(
        #"{"jsonrpc":"2.0","id":1,"method":"query","params":{"name":"p.q","subject":"s","args":{}}}"#.utf8)
      func bundle(_ connection: UInt64) -> TextBundle {
        let bundle = TextBundle()
        line.withView { bundle.add($0, to: ReplyTarget(.worker(0), connection: connection, isAdmin: false)) }
        return bundle
      }
      let before = worker.executed.queries
      worker.executeRequests(in: bundle(1))
      let first = worker.executed.queries == before + 1 && worker.waiting.isEmpty
      worker.turnEnd = 1
      worker.executeRequests(in: bundle(2))
      waits.set([first, worker.executed.queries == before + 1 && !worker.waiting.isEmpty])
    }
    #expect(waits.wait() == [true, true])
  }
}
