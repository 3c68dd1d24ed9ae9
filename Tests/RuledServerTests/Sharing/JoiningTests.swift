import RuledEngine
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledServer

/// What the owner does while a node that has joined is not ready yet.
@Suite struct JoiningTests {
  /// A node that sends what a test says, and keeps what the owner sends.
  private final class Node: Sendable {
    private let loop: LoopThread
    private let channel = Confined<ShareChannel>()
    private let order = Mutex<[String]>([])

    /// Joins an owner.
    init(_ name: String, _ lending: Lending, revision: String) throws {
      loop = try LoopThread()
      let (near, far) = PlainSocket.pair()
      lending.adopt(far)
      loop.post { [self] loop in
        do throws(SystemError) {
          channel.value = try ShareChannel(on: loop, near, senders: MessageSenders()) { [self] in
            note($0)
          } ended: { _ in
          }
        } catch { fatalError("\(error)") }
        channel.value?.send(.join(ShareJoin(node: name, incarnation: "1", revision: revision)))
      }
    }

    /// The kinds of frames that came, in their order.
    var received: [String] { order.withLock { $0 } }

    func ping() {
      loop.post { [self] _ in channel.value?.send(.ping(time: EngineClock.monotonic, played: 0)) }
    }

    func stop() {
      loop.post { [self] _ in channel.value?.close("the test ends") }
      loop.end()
    }

    private func note(_ frame: ShareFrame) {
      let kind: String? =
        switch frame {
        case .accept: "accept"
        case .pong: "pong"
        case .grant(let partitions, _, _) where !partitions.isEmpty: "grant"
        default: nil
        }
      if let kind { order.withLock { $0.append(kind) } }
    }
  }

  @Test func `A node gets subjects once it has said that it is ready, and may answer reads before it gets them`() throws
  {
    let rig = try SharingRig()
    defer { rig.stop() }
    let node = try Node("c", rig.lending, revision: rig.owner.services.status.catalog?.revision ?? "")
    defer { node.stop() }
    #expect(eventually { rig.lent == 128 && rig.lending.overview.nodes["c"] == 0 })
    #expect(node.received == ["accept"])
    let hasSubjects = eventually {
      node.ping()
      return rig.lending.overview.nodes == ["b": 85, "c": 85]
    }
    #expect(hasSubjects)
    #expect(eventually { node.received.contains("grant") })
    #expect(node.received.prefix(2) == ["accept", "pong"])
  }
}
