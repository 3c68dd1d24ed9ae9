import Glibc
import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// A follower plays back on demand.
  @Suite struct PlaybackTests {
    /// A node that follows what `writer` commits, until `end`.
    private final class Follower: Sendable {
      let node: Node
      private let thread: Thread

      init(_ name: String, _ settings: ClusterSettings) throws {
        let node = try Node(name, settings)
        self.node = node
        thread = try Thread(name: "follow") { _ = try? node.node.awaitOwnership() }
      }

      func end() throws {
        node.end()
        thread.join()
        try node.played.store.close()
      }
    }

    /// The owner of a log, and a node that follows.
    private final class Pair: Sendable {
      let owner: Node
      let store: ClusterStore
      let follower: Follower

      init() throws {
        let settings = try Cluster.settings()
        owner = try Node("a", settings)
        store = try owner.own()
        follower = try Follower("b", settings)
      }

      /// Commits texts, each as a batch of its own.
      func commit(_ texts: [String]) throws {
        for text in texts { try store.commit(Cluster.writes(text), durable: true) }
      }

      func end() throws {
        try follower.end()
        try endOwner()
      }

      func endOwner() throws {
        owner.end()
        try store.close()
      }
    }

    @Test func `what is wanted is there after the wait for it, and bodies run in the order of the log`() throws {
      let pair = try Pair()
      let follower = pair.follower
      let node = follower.node.node
      let order = Mutex<[Int64]>([])
      for number: Int64 in 1...20 {
        try pair.commit(["\(number)"])
        node.whenPlayed(number) { order.withLock { $0.append(number) } }
        if number % 3 == 0 {
          #expect(node.awaitPlayed(number, milliseconds: 60_000))
          #expect(node.position.sequence >= number && follower.node.texts.count >= number)
        }
      }
      #expect(node.awaitPlayed(20, milliseconds: 60_000))
      try Cluster.wait { order.withLock { $0.count } == 20 }
      #expect(order.withLock { $0 } == Array(1...20))
      #expect(node.figures.end == 20)
      try pair.end()
    }

    @Test func `a body runs at once if its batch is played back, and later ones wait`() throws {
      let pair = try Pair()
      let follower = pair.follower
      let node = follower.node.node
      try pair.commit(["1"])
      #expect(node.awaitPlayed(1, milliseconds: 60_000))
      let runs = Mutex<[Int64]>([])
      node.whenPlayed(1) { runs.withLock { $0.append(1) } }
      #expect(runs.withLock { $0 } == [1])
      // The later one is asked for first.
      node.whenPlayed(3) { runs.withLock { $0.append(3) } }
      node.whenPlayed(2) { runs.withLock { $0.append(2) } }
      node.whenPlayed(1) { runs.withLock { $0.append(-1) } }
      #expect(!node.awaitPlayed(2, milliseconds: 150))
      try Cluster.wait { runs.withLock { $0 } == [1, -1] }
      try pair.commit(["2", "3"])
      node.follow(to: 3)
      try Cluster.wait { runs.withLock { $0 } == [1, -1, 2, 3] }
      try pair.end()
    }

    @Test func `much is played back in order while many threads ask for it`() throws {
      let pair = try Pair()
      let follower = pair.follower
      let node = follower.node.node
      let done = Mutex<Int64>(0)
      let failures = Mutex(0)
      let threads = try (0..<4).map { _ in
        try Thread(name: "asks") {
          var last: Int64 = 0
          while last < 300 {
            last = done.withLock { $0 }
            if !node.awaitPlayed(last, milliseconds: 60_000) || node.position.sequence < last {
              failures.withLock { $0 += 1 }
            }
          }
        }
      }
      for number: Int64 in 1...300 {
        try pair.commit(["\(number)"])
        done.withLock { $0 = number }
      }
      for thread in threads { thread.join() }
      #expect(failures.withLock { $0 } == 0)
      #expect(follower.node.texts.count == 300)
      try pair.end()
    }

    @Test func `when a node stops following, waits end and what waits never runs`() throws {
      let pair = try Pair()
      let follower = pair.follower
      let node = follower.node.node
      let runs = Mutex(0)
      node.whenPlayed(5) { runs.withLock { $0 += 1 } }
      let result = Mutex<Bool?>(nil)
      let waiter = try Thread(name: "waits") {
        let isPlayed = node.awaitPlayed(5, milliseconds: 600_000)
        result.withLock { $0 = isPlayed }
      }
      try follower.end()
      waiter.join()
      #expect(result.withLock { $0 } == false && runs.withLock { $0 } == 0)
      #expect(!node.awaitPlayed(1, milliseconds: 600_000))
      node.whenPlayed(1) { runs.withLock { $0 += 1 } }
      #expect(runs.withLock { $0 } == 0)
      try pair.endOwner()
    }
  }
}
