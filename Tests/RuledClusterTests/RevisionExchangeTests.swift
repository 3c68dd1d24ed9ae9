import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// How nodes agree on rules by way of the database.
  @Suite struct RevisionExchangeTests {
    private func exchange(_ name: String, _ settings: ClusterSettings, lease: Bool = true) throws -> RevisionExchange {
      try exchange(Cluster.node(name), settings, lease: lease)
    }

    private func exchange(
      _ identity: NodeIdentity, _ settings: ClusterSettings, lease: Bool = true
    ) throws -> RevisionExchange {
      if lease { #expect(try LogClient(settings).renewLease(of: identity, at: 0) != nil) }
      return RevisionExchange(settings, identity: identity)
    }

    private func offer(_ revision: String, by owner: RevisionExchange) throws {
      try Array("content of \(revision)".utf8).withView { (bytes) throws(StoreError) in
        try owner.offer(revision, content: bytes)
      }
    }

    @Test func `an owner learns what each live node that loads says, and waits for no other`() throws {
      var settings = try Cluster.settings()
      settings.lease = 3_600_000
      let owner = try exchange("a", settings)
      let (first, second) = (try exchange("b", settings), try exchange("c", settings))
      _ = try exchange("starting", settings)
      let dead = try exchange("dead", settings, lease: false)
      for node in [first, second, dead] { try node.join() }
      try offer("r1", by: owner)
      #expect(try owner.reports(on: "r1").map(\.node) == ["b", "c"])
      #expect(try owner.reports(on: "r1").allSatisfy { !$0.hasTried })
      let found = try #require(try first.offered(live: ""))
      #expect(found.revision == "r1" && found.content == Array("content of r1".utf8))
      try first.report("r1", problem: "")
      try second.report("r1", problem: "no")
      #expect(try first.offered(live: "") == nil)
      #expect(
        try owner.reports(on: "r1") == [
          .init(node: "b", hasTried: true, problem: ""), .init(node: "c", hasTried: true, problem: "no"),
        ])
      try offer("r1", by: owner)
      #expect(try owner.reports(on: "r1").allSatisfy { !$0.hasTried }, "what is offered again is tried again")
      #expect(try second.offered(live: "")?.revision == "r1")
    }

    @Test func `reports of another process of the node do not count`() throws {
      var settings = try Cluster.settings()
      settings.lease = 3_600_000
      let owner = try exchange("a", settings)
      let earlier = Cluster.node("b")
      let before = try exchange(earlier, settings)
      try before.join()
      try offer("r1", by: owner)
      try before.report("r1", problem: "")
      try LogClient(settings).releaseLease(of: earlier)
      #expect(try owner.reports(on: "r1").isEmpty)
      let now = try exchange("b", settings)
      #expect(try owner.reports(on: "r1").isEmpty, "it has not said yet that it loads")
      try now.join()
      #expect(try owner.reports(on: "r1").map(\.hasTried) == [false])
    }

    @Test func `a node that follows is asked for its folder, and its answer ends the request`() throws {
      var settings = try Cluster.settings()
      settings.lease = 3_600_000
      let owner = try exchange("a", settings)
      let identity = Cluster.node("b")
      let node = try exchange(identity, settings)
      #expect(try owner.askForFolder(of: "b") == nil, "it has not said yet that it can be asked")
      try node.join()
      #expect(try owner.askForFolder(of: "nobody") == nil)
      let first = try #require(try owner.askForFolder(of: "b"))
      let second = try #require(try owner.askForFolder(of: "b"))
      #expect(try owner.answer(to: first).text == nil)
      try node.answer(first, "one")
      let left = try #require(try node.folderRequest())
      #expect(left.name == second.name, "an answered request is not there any more")
      #expect(try owner.answer(to: first).text == "one")
      #expect(try owner.answer(to: first).text == nil)
      try owner.withdraw(second)
      #expect(try node.folderRequest() == nil)
      try node.answer(second, "too late")
      #expect(try owner.answer(to: second).text == nil)
      let third = try #require(try owner.askForFolder(of: "b"))
      #expect(try owner.answer(to: third).isAlive)
      #expect(try owner.reports(on: "r1").map(\.hasTried) == [false], "a request is no report")
      try LogClient(settings).releaseLease(of: identity)
      #expect(try !owner.answer(to: third).isAlive)
      try node.join()
      #expect(try node.folderRequest() == nil, "a request does not outlive the start of a process")
    }

    @Test func `a node tries the revision in force and the last three, the latest first`() throws {
      let settings = try Cluster.settings()
      let owner = try exchange("a", settings)
      let node = try exchange("b", settings)
      try node.join()
      for number in 1...6 { try offer("r\(number)", by: owner) }
      var tried: [String] = []
      while let (revision, _) = try node.offered(live: "r2") {
        tried.append(revision)
        try node.report(revision, problem: "")
      }
      #expect(tried == ["r6", "r5", "r4", "r2"])
    }

    @Test func `a node takes what was offered or shared since, the earliest first, and an offer does not undo a share`()
      throws
    {
      let settings = try Cluster.settings()
      let (owner, node) = (try exchange("a", settings), try exchange("b", settings))
      func taken() throws -> [String] {
        var found: [String] = []
        try node.takeLater { found.append(String(decoding: $0, as: UTF8.self)) }
        return found
      }
      for revision in ["r1", "r2"] { try offer(revision, by: owner) }
      #expect(try taken() == ["content of r1", "content of r2"])
      #expect(try taken().isEmpty)
      for revision in ["r1", "r3"] {
        try Array("shared \(revision)".utf8).withView { (bytes) throws(StoreError) in
          try owner.distribute(revision, content: bytes)
        }
      }
      try offer("r1", by: owner)
      #expect(try taken() == ["shared r3", "shared r1"])
    }

    @Test func `a node that can't load the rules in force does not take over`() throws {
      let settings = try Cluster.settings()
      let node = try Node("a", settings)
      node.node.setRulesProblem(StoreError(.refused, "it can't load them"))
      let isOwner = Cluster.Flag()
      let follower = try Thread(name: "follow") {
        if let store = try? node.own() {
          isOwner.set()
          try? store.close()
        }
      }
      // Another node becomes the owner meanwhile, though this one has had every chance.
      let other = try Node("b", settings)
      let store = try other.own()
      #expect(!isOwner.isSet)
      other.end()
      try store.close()
      node.node.setRulesProblem(nil)
      follower.join()
      #expect(isOwner.isSet)
      node.end()
    }
  }
}
