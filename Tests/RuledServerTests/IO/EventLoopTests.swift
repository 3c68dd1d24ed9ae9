import Glibc
import Testing

@testable import RuledServer

@Suite struct EventLoopTests {
  @Test func atTheEndOfATurnWorkComesBeforeOutput() throws {
    let loop = try EventLoop()
    var order: [String] = []
    loop.atTurnEnd(.output) { order.append("output") }
    loop.atTurnEnd(.work) { order.append("work") }
    loop.soon {
      order.append("soon")
      loop.stop()
    }
    loop.run()
    loop.close()
    let soon = try #require(order.firstIndex(of: "soon"))
    #expect(order[(soon + 1)...].starts(with: ["work", "output"]))
  }

  @Test func whatIsAskedForSoonInSoonComesInTheNextTurn() throws {
    let loop = try EventLoop()
    var turns = 0
    var seen: [Int] = []
    loop.atTurnEnd(.work) { turns += 1 }
    loop.soon {
      seen.append(turns)
      loop.soon {
        seen.append(turns)
        loop.stop()
      }
    }
    loop.run()
    loop.close()
    #expect(seen.count == 2)
    #expect(seen.last == seen.first.map { $0 + 1 })
  }

  @Test func timersFireRepeatAndCanBeCancelled() throws {
    let loop = try EventLoop()
    var once = 0
    var ticks = 0
    let cancelled = try loop.timer(after: 1) { Issue.record("a cancelled timer fired") }
    cancelled.cancel()
    try loop.timer(after: 1) { once += 1 }
    try loop.timer(after: 1, every: 1) {
      ticks += 1
      if ticks == 5 { loop.stop() }
    }
    loop.run()
    loop.close()
    #expect(once == 1)
    #expect(ticks == 5)
  }

  @Test func closingALoopLetsGoOfWhatItsHandlesHold() throws {
    final class Token {}
    weak var weakToken: Token?
    weak var weakLoop: EventLoop?
    do {
      let loop = try EventLoop()
      let token = Token()
      weakToken = token
      weakLoop = loop
      try loop.timer(after: 100_000) { _ = token }
      let mailbox = Mailbox<Int>()
      try mailbox.attach(to: loop) { _ in _ = (token, loop) }
      loop.atTurnEnd(.work) { _ = (token, loop) }
      loop.soon { loop.stop() }
      loop.run()
      mailbox.close()
      loop.close()
    }
    #expect(weakToken == nil)
    #expect(weakLoop == nil)
  }

  @Test func signalsArriveOnTheLoop() throws {
    let loop = try EventLoop()
    var seen: [SignalWatcher.Signal] = []
    let watcher = try SignalWatcher(on: loop, [.hangUp]) { signal in
      seen.append(signal)
      loop.stop()
    }
    kill(getpid(), SIGHUP)
    loop.run()
    watcher.close()
    loop.close()
    #expect(seen == [.hangUp])
  }
}
