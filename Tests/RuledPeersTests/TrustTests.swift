import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledPeers

/// Who is let in, and who is talked to.
@Suite struct TrustTests {
  private let certificates = Certificates.shared

  /// Expects that nothing was linked, and that both sides say why.
  private func expectRefusal(_ rig: PeerRig, link: String, listener: String) {
    #expect(eventually { rig.breaks.contains { $0.contains(link) } }, "\(rig.breaks)")
    #expect(eventually { rig.refusals.contains { $0.contains(listener) } }, "\(rig.refusals)")
    #expect(rig.linkings == 0 && !rig.link.isUp)
    #expect(rig.open().receiveAll().isEmpty)
    #expect(rig.outcomes.items.count == 1 && rig.clients.items.isEmpty)
    #expect(!rig.notesOfB.items.contains { if case .joined = $0 { true } else { false } })
  }

  @Test func `a listener of another authority is refused`() throws {
    let foreign = Certificates.foreign.identity("b", authority: certificates)
    expectRefusal(try PeerRig(identityOfB: foreign), link: "certificate is refused", listener: "unknown ca")
  }

  @Test func `a node of another authority is refused`() throws {
    let foreign = Certificates.foreign.identity("a", authority: certificates)
    expectRefusal(try PeerRig(identityOfA: foreign), link: "unknown ca", listener: "certificate is refused")
  }

  @Test func `a listener with the certificate of another node is refused`() throws {
    let other = certificates.identity("c")
    expectRefusal(try PeerRig(identityOfB: other), link: "hostname mismatch", listener: "bad certificate")
  }

  @Test func `a node that says it is another one is refused`() throws {
    expectRefusal(
      try PeerRig(a: "c"), link: "the certificate is not for node c", listener: "the certificate is not for node c")
  }

  @Test func `a node is not let in by the part of its name before a NUL`() throws {
    let refusal = "the certificate is not for node a\0"
    expectRefusal(try PeerRig(a: "a\0"), link: refusal, listener: refusal)
  }

  @Test func `an expired certificate is refused on both sides`() throws {
    let expired = Certificates(["a", "b"])
    let a = try PeerRig(
      identityOfA: expired.expire("a"), identityOfB: expired.identity("b"))
    expectRefusal(a, link: "certificate expired", listener: "certificate has expired")
    let b = try PeerRig(identityOfA: expired.identity("a"), identityOfB: expired.expire("b"))
    expectRefusal(b, link: "certificate has expired", listener: "certificate expired")
  }

  @Test func `a link goes on with a renewed certificate`() throws {
    let own = Certificates(["a", "b"])
    let rig = try PeerRig(identityOfA: own.expire("a"), identityOfB: own.identity("b"))
    #expect(eventually { !rig.breaks.isEmpty })
    rig.link.use(own.identity("a"))
    #expect(rig.waitForLink())
  }

  @Test func `a file that is no certificate is refused by its name`() {
    let paths = ["a/node.pem", "a/node.key", "authority.pem"].map(certificates.path)
    #expect(throws: Never.self) { try PeerIdentity(certificate: paths[0], key: paths[1], authority: paths[2]) }
    for wrong in 0..<3 {
      var files = paths
      files[wrong] += ".missing"
      let error = #expect(throws: PeerError.self) {
        try PeerIdentity(certificate: files[0], key: files[1], authority: files[2])
      }
      #expect(error?.description.contains(files[wrong]) == true)
    }
    let foreign = certificates.path("b/node.key")
    let error = #expect(throws: PeerError.self) {
      try PeerIdentity(certificate: paths[0], key: foreign, authority: paths[2])
    }
    #expect(error?.description.contains("key values mismatch") == true, "\(String(describing: error))")
  }

  @Test func `an identity says when its certificate expires`() {
    let days = (certificates.identity("a").expiry - Int64(time(nil))) / 86_400
    #expect((823...825).contains(days))
  }

  @Test func `an identity is for the names that its certificate lists, and not for its common name`() {
    let identity = certificates.identity("a")
    #expect(identity.isFor("a") && !identity.isFor("b") && !identity.isFor("ruled"))
    #expect(!identity.isFor("a\0") && !identity.isFor("a\0b") && !identity.isFor(""))
  }

  @Test func `an address that is taken is refused`() throws {
    let rig = try PeerRig()
    let settings = PeerSettings(name: "b", identity: certificates.identity("b"))
    let address = try #require(NodeAddress("127.0.0.1:\(rig.listener.port)"))
    let error = #expect(throws: PeerError.self) {
      try PeerListener(on: rig.b, at: address, settings) { _, _ in "" }
    }
    #expect(error?.description == "bind: Address already in use")
  }
}
