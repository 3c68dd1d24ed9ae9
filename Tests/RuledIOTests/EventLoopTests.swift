import Glibc
import RuledThreads
import Testing

@testable import RuledIO

@Suite struct EventLoopTests {
  @Test func `at the end of a tick, work comes before output`() throws {
    let loop = try EventLoop()
    var order: [String] = []
    loop.atTickEnd(.output) { order.append("output") }
    loop.atTickEnd(.work) { order.append("work") }
    loop.onNextTick {
      order.append("next")
      loop.stop()
    }
    loop.run()
    loop.close()
    let next = try #require(order.firstIndex(of: "next"))
    #expect(order[(next + 1)...].starts(with: ["work", "output"]))
  }

  @Test func `a closure for the next tick that asks for another is followed by it in the tick after`() throws {
    let loop = try EventLoop()
    var ticks = 0
    var seen: [Int] = []
    loop.atTickEnd(.work) { ticks += 1 }
    loop.onNextTick {
      seen.append(ticks)
      loop.onNextTick {
        seen.append(ticks)
        loop.stop()
      }
    }
    loop.run()
    loop.close()
    #expect(seen.count == 2)
    #expect(seen.last == seen.first.map { $0 + 1 })
  }

  @Test func `timers fire, repeat and can be cancelled`() throws {
    let loop = try EventLoop()
    var once = 0
    var ticks = 0
    let cancelled = try loop.timer(after: 1) { Issue.record("a cancelled timer fired") }
    cancelled.close()
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

  @Test func `closing a loop releases the objects that its handles hold`() throws {
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
      loop.atTickEnd(.work) { _ = (token, loop) }
      loop.onNextTick { loop.stop() }
      loop.run()
      mailbox.close()
      loop.close()
    }
    #expect(weakToken == nil)
    #expect(weakLoop == nil)
  }

  /// Has this thread handle a signal before it goes on; the threads of tests block all.
  private func raiseHere(_ number: Int32) {
    var (signals, before) = (sigset_t(), sigset_t())
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, &before)
    pthread_kill(pthread_self(), number)
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  @Test func `signals arrive on the loop`() throws {
    let loop = try EventLoop()
    var seen: [SignalWatcher.Signal] = []
    let watcher = try SignalWatcher(on: loop, [.hangUp]) { signal in
      seen.append(signal)
      loop.stop()
    }
    raiseHere(SIGHUP)
    loop.run()
    watcher.close()
    loop.close()
    #expect(seen == [.hangUp])
  }

  @Test func `signals between two loops wait for the second`() throws {
    let signals = ProcessSignals()
    var seen: [SignalWatcher.Signal] = []
    for next in [SIGHUP, SIGINT, nil] {
      let loop = try EventLoop()
      let poll = try signals.attach(to: loop) { seen.append($0) }
      try loop.timer(after: 20) { loop.stop() }
      loop.run()
      poll.close()
      loop.close()
      if let next { raiseHere(next) }
    }
    #expect(seen == [.hangUp, .interrupt])
  }

  @Test func `signals that come faster than they are handled hold up nothing else`() throws {
    let (loop, signals) = (try EventLoop(), ProcessSignals())
    var seen = 0
    let poll = try signals.attach(to: loop) { _ in
      seen += 1
      loop.onNextTick { loop.stop() }
      guard seen < 1_000 else { return }
      for _ in 0..<100 { raiseHere(SIGHUP) }
    }
    loop.onNextTick { raiseHere(SIGHUP) }
    loop.run()
    poll.close()
    loop.close()
    #expect(seen < 10)
  }

  @Test func `a loop that is dropped unused closes itself`() throws {
    weak var weakLoop: EventLoop?
    do {
      let loop = try EventLoop()
      weakLoop = loop
      loop.atTickEnd(.work) {}
      loop.onNextTick {}
    }
    #expect(weakLoop == nil)
  }

  #if DEBUG
    @Test func `a timer that another thread starts traps`() async {
      await #expect(processExitsWith: .failure) {
        nonisolated(unsafe) let timer = try LoopTimer(on: EventLoop()) {}
        try Thread.start(name: "other") { timer.start(after: 1) }.join()
      }
    }

    @Test func `a poll that another thread starts traps`() async {
      await #expect(processExitsWith: .failure) {
        nonisolated(unsafe) let poll = try DescriptorPoll(on: EventLoop(), 0) { _ in }
        try Thread.start(name: "other") { poll.wait(for: .readable) }.join()
      }
    }
  #endif
}
