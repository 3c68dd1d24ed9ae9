import Glibc
import RuledCore
import RuledStore
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// Snapshots in an object store, as nodes have them.
  @Suite struct SnapshotBucketTests {
    private let folder = TemporaryFolder()
    private let server: ObjectServer

    init() throws {
      server = try ObjectServer()
      folder.write("credentials", "AWS_ACCESS_KEY_ID=id\nAWS_SECRET_ACCESS_KEY=secret\n")
    }

    private var bucket: ObjectBucket {
      ObjectBucket(
        name: "bucket", prefix: "of/ours", endpoint: "http://127.0.0.1:\(server.port)", region: "here",
        credentialsFile: folder("credentials"))
    }

    private var settings: SnapshotSettings { SnapshotSettings(.bucket(bucket), every: 3_600_000_000) }

    private func write(_ node: Node) throws {
      try SnapshotKeeper(settings, node: node.node) { _, _ in }.makeSnapshot()
    }

    private func place(_ cluster: ClusterSettings) throws -> SnapshotBucket {
      let client = LogClient(cluster)
      _ = try client.readHead()
      return try SnapshotBucket(bucket, cluster: #require(client.cluster).id)
    }

    private func start(_ cluster: ClusterSettings, in folder: TemporaryFolder) throws -> [String] {
      var problems: [String] = []
      let start = SnapshotStart(
        cluster, snapshots: settings, identity: Cluster.node("b"), isInterrupted: { false }
      ) { message, isProblem in if isProblem { problems.append(message) } }
      try start.run(.empty, path: folder("store"), journal: "journal")
      return problems
    }

    @Test func `a node starts from what another one wrote, and old snapshots are removed`() throws {
      let (cluster, node, store, _) = try Cluster.owner(25)
      for number in 0..<4 {
        try store.commit(Cluster.writes("x\(number)"), durable: true)
        try write(node)
      }
      let listed = try LogClient(cluster).snapshots()
      #expect(listed.count == 3)
      let prefix = try "of/ours/\(place(cluster).cluster)/"
      let names = Set(server.names.map { $0.dropFirst(prefix.count).split(separator: "/")[0] })
      #expect(server.names.allSatisfy { $0.hasPrefix(prefix) } && names == Set(listed.map { $0.name[...] }))
      #expect(server.requests.contains { $0.query.contains("continuation-token=after%2F%2B%26%3D") })
      let target = TemporaryFolder()
      #expect(try start(cluster, in: target).isEmpty)
      let started = try PlayedStore(RocksStore(path: target("store")))
      #expect(started.position == listed[0].position)
      try started.store.close()
      node.end()
      try store.close()
    }

    @Test func `requests are signed, and name the digest of what they send`() throws {
      let (_, node, store, _) = try Cluster.owner(5)
      try write(node)
      for request in server.requests {
        let digest = request.body.withView { SHA256.hash($0) }.hex
        #expect(ObjectServer.header("x-amz-content-sha256", of: request.head) == digest)
        let authorization = ObjectServer.header("authorization", of: request.head) ?? ""
        #expect(authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=id/") && authorization.contains("/here/s3/"))
        #expect(authorization.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date"))
        #expect(!request.head.contains("secret"))
      }
      let last = server.requests.last { $0.method == "PUT" }
      #expect(last?.name.hasSuffix("/SNAPSHOT") == true, "the list comes last")
      node.end()
      try store.close()
    }

    @Test func `damage in any object is found, and a missing one is named`() throws {
      let (cluster, node, store, _) = try Cluster.owner(20)
      try node.played.store.flushAll()
      try store.commit(Cluster.writes("more"), durable: true)
      try write(node)
      let snapshot = try #require(LogClient(cluster).snapshots().first)
      let place = try place(cluster)
      #expect(server.names.count > 5)
      for name in server.names {
        let bytes = try #require(server.bytes(of: name))
        guard !bytes.isEmpty else { continue }
        for damaged in [bytes.enumerated().map { $0 == bytes.count / 2 ? $1 ^ 1 : $1 }, Array(bytes.dropLast()), nil] {
          server.put(damaged, as: name)
          let target = TemporaryFolder()
          let error = #expect(throws: StoreError.self) { try place.copy(snapshot, to: target.path) { _ in } }
          let isList = name.hasSuffix("/SNAPSHOT")
          #expect(error?.code == (damaged == nil ? .inputOutput : .corrupt))
          #expect(error?.description.contains(damaged == nil && isList ? snapshot.name : "s3://bucket/\(name)") == true)
        }
        server.put(bytes, as: name)
      }
      node.end()
      try store.close()
    }

    @Test func `a request is tried again after what may pass, and progress counts no byte twice`() throws {
      let bytes = (0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let store = try ObjectStore(bucket)
      let failures = Mutex(0)
      let fail = { @Sendable (faults: [ObjectServer.Fault]) in
        failures.withLock { $0 = 0 }
        self.server.fail { _ in
          failures.withLock { count in
            count += 1
            return count <= faults.count ? faults[count - 1] : nil
          }
        }
      }
      fail([.status(503, code: "SlowDown"), .status(500)])
      var sent = 0
      try store.put(bytes, as: "large") { sent += $0 }
      #expect(server.bytes(of: "large") == bytes && sent == bytes.count && failures.withLock { $0 } == 3)
      fail([.cut])
      var received = 0
      let receiver = try FileReceiver("large", in: folder.path)
      #expect(try store.get("large", into: receiver) { received += $0 })
      #expect(try receiver.finish().bytes == bytes.count && received == bytes.count)
      #expect(TemporaryFolder.size(folder("large")) == bytes.count)
      fail([.status(429)])
      #expect(try store.get("none") { _ in } == nil)
      try store.put([], as: "empty") { _ in }
      #expect(try store.get("empty") { _ in } == [])
    }

    @Test func `an error that stays is not tried again, and says what to do`() throws {
      let store = try ObjectStore(bucket)
      for (status, code, words) in [
        (403, "SignatureDoesNotMatch", "the secret key in \(folder("credentials")) is not the one of the key's id"),
        (403, "AccessDenied", "allow the key"), (404, "NoSuchBucket", "make the bucket bucket"),
        (400, "AuthorizationHeaderMalformed", "correct cluster.s3.region"),
        (403, "RequestTimeTooSkewed", "set the clock"), (301, "", "the bucket is elsewhere"),
      ] {
        server.fail { _ in .status(status, code: code) }
        let before = server.requests.count
        let error = #expect(throws: StoreError.self) { try store.put([1], as: "x") { _ in } }
        #expect(error?.code == .inputOutput && error?.message.contains(words) == true, "\(code)")
        #expect(error?.underlying.hasPrefix("status \(status)") == true)
        #expect(server.requests.count == before + 1)
      }
      for lines in [1, 2 << 10] {
        server.fail { _ in .largeHead(lines: lines) }
        let error = #expect(throws: StoreError.self) { try store.get("x") { _ in } }
        #expect(error?.underlying == "the answer's head is too large")
      }
    }

    @Test func `progress ends a request and the wait for the next attempt`() throws {
      let store = try ObjectStore(bucket)
      server.fail { _ in .status(503) }
      var calls = 0
      let error = #expect(throws: StoreError.self) {
        try store.delete("x") { (_) throws(StoreError) in
          calls += 1
          if calls > 3 { throw StoreError(.interrupted, "the node ends") }
        }
      }
      #expect(error?.code == .interrupted && calls == 4)
    }

    @Test func `without credentials the settings are refused`() throws {
      var missing = bucket
      missing.credentialsFile = folder("none")
      let error = #expect(throws: StoreError.self) { try SnapshotSettings(.bucket(missing), every: 1).review() }
      #expect(error?.message.contains("cluster.s3.credentials_file") == true)
      try settings.review()
    }

    @Test func `lists of an object store are read, and other texts are refused`() throws {
      let text = "<ListBucketResult><IsTruncated>true</IsTruncated><Key>a&amp;b&#x41;&#66;&lt;</Key><Key>c</Key>"
      let whole = ObjectAnswer(
        status: 200, body: Array((text + "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>").utf8))
      let list = try #require(whole.list)
      #expect(list.names == ["a&bAB<", "c"] && list.next == "t")
      for broken in [text, "\(text)</ListBucketResult>", "<html></html>", ""] {
        #expect(ObjectAnswer(status: 200, body: Array(broken.utf8)).list == nil)
      }
    }
  }
}

extension TemporaryFolder {
  /// The size of a file.
  fileprivate static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : -1
  }
}
