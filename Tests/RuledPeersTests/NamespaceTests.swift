import Glibc
import RuledCore
import RuledIO
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledPeers

/// Two hosts of this machine, as network namespaces with a link between them; root only.
private final class TwoHosts: Sendable {
  private static let made = Atomic<Int>(0)
  private let tag = "ruledt\(getpid())n\(made.wrappingAdd(1, ordering: .relaxed).newValue)"

  init() {
    Certificates.shell(
      """
      ip netns add \(tag)a && ip netns add \(tag)b \
        && ip link add eth0 netns \(tag)a type veth peer name eth0 netns \(tag)b \
        && for n in a b; do ip -n \(tag)$n link set lo up && ip -n \(tag)$n link set eth0 up; done \
        && ip -n \(tag)a address add 10.99.0.1/24 dev eth0 && ip -n \(tag)b address add 10.99.0.2/24 dev eth0
      """)
  }

  deinit { Certificates.shell("ip netns delete \(tag)a; ip netns delete \(tag)b") }

  static var isPossible: Bool { getuid() == 0 && system("ip netns >/dev/null 2>&1") == 0 }

  /// A loop whose thread is on the host: threads begin where their maker is.
  func loop(on host: String) throws -> PeerLoop {
    let made: Mutex<PeerLoop?> = Mutex(nil)
    let path = "/run/netns/\(tag)\(host)"
    try Thread(name: "host") {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      precondition(setns(descriptor, 0x4000_0000) == 0, "setns: \(errno)")
      close(descriptor)
      made.withLock { $0 = try? PeerLoop() }
    }.join()
    return try #require(made.withLock { $0 })
  }

  /// Loses all packets that a host sends, without telling anybody.
  func cut(from host: String) { Certificates.shell("tc -n \(tag)\(host) qdisc replace dev eth0 root blackhole") }

  func heal(_ host: String) { Certificates.shell("tc -n \(tag)\(host) qdisc delete dev eth0 root") }
}

@_silgen_name("setns") private func setns(_ descriptor: Int32, _ kind: Int32) -> Int32

@Suite(.enabled(if: TwoHosts.isPossible, "network namespaces need root")) struct NamespaceTests {
  @Test(arguments: ["a", "b", "ab"])
  func `a link over a cut network is found dead, and comes back with the network`(cut: String) throws {
    let hosts = TwoHosts()
    let (a, b) = (try hosts.loop(on: "a"), try hosts.loop(on: "b"))
    defer {
      a.stop()
      b.stop()
    }
    let clients = Journal<Socket>()
    let address = try #require(NodeAddress("10.99.0.2:7433"))
    let listener = try PeerListener(
      on: b, at: address,
      PeerSettings(name: "b", identity: Certificates.shared.identity("b"), limits: PeerRig.limits)
    ) { _, socket in
      clients.add(Socket(socket))
      return nil
    }
    let link = PeerLink(
      on: a, to: "b", at: address,
      PeerSettings(name: "a", identity: Certificates.shared.identity("a"), limits: PeerRig.limits))
    defer {
      link.close()
      listener.close()
    }
    /// A tunnel; asks again while the link has not noticed yet that the network is cut, or is there again.
    func tunnel() throws -> (client: Socket, daemon: Socket) {
      let count = clients.items.count
      var client: Socket?
      let isOpen = eventually {
        guard link.isUp else { return false }
        let (near, far) = Socket.pair()
        let refusals = Journal<String>()
        link.open(far, for: ClientAccess(.lines)) { outcome in
          guard case .refused(let why) = outcome else { return }
          close(far)
          refusals.add(why)
        }
        client = near
        return eventually { clients.items.count == count + 1 || !refusals.items.isEmpty } && refusals.items.isEmpty
      }
      #expect(isOpen)
      return (try #require(client), try #require(clients.items.last))
    }
    let before = try tunnel()
    before.client.send("before")
    #expect(before.daemon.receive(6) == "before")
    for host in cut { hosts.cut(from: String(host)) }
    before.client.send("during")
    #expect(before.client.receiveAll().isEmpty)
    #expect("during".hasPrefix(String(decoding: before.daemon.receiveAll(), as: UTF8.self)))
    for host in cut { hosts.heal(String(host)) }
    let after = try tunnel()
    after.client.send("after")
    #expect(after.daemon.receive(5) == "after")
  }
}
