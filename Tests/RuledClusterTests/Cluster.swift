import Glibc
import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

/// All tests of clusters, one after the other, since each runs a database.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled)) enum Cluster {
  /// The server that tests share which don't harm it; it ends with the process.
  static let server: PostgresServer = {
    atexit(endSharedServer)
    return PostgresServer()
  }()
  private static let databases = Atomic(0)

  /// Settings for a log in a new database of a server.
  static func settings(on server: PostgresServer = Cluster.server, socket: String? = nil) throws -> ClusterSettings {
    let name = "cluster\(databases.wrappingAdd(1, ordering: .relaxed).newValue)"
    try PostgresConnection(server.url(), seconds: 5).run(script: "CREATE DATABASE \(name)", milliseconds: 60_000)
    var settings = ClusterSettings(url: server.url(name, socket: socket))
    settings.durability = .primary
    return settings
  }

  /// The same settings, with a proxy between the node and its database.
  static func through(_ proxy: DatabaseProxy, _ settings: ClusterSettings) -> ClusterSettings {
    var proxied = settings
    proxied.url = settings.url.replacing(server.folder.path, with: proxy.folder.path)
    return proxied
  }

  static func node(_ name: String) -> NodeIdentity { NodeIdentity(name: name, address: "\(name).example") }

  /// A writer that owns the log.
  static func owner(_ settings: ClusterSettings, _ name: String = "a") throws -> LogWriter {
    let writer = LogWriter(settings, node: node(name))
    let isOwner = try writer.takeOver(from: LogClient(settings).readHead())
    try #require(isOwner)
    return writer
  }

  /// A batch with one commit that puts `text` under a key.
  static func batch(_ text: String) -> LogBatch {
    let batch = LogBatch()
    batch.append(writes(text))
    return batch
  }

  /// Writes that put `text` under a key of its own.
  static func writes(_ text: String) -> WriteSet {
    let writes = WriteSet()
    Array("k\(text)".utf8).withView { key in Array(text.utf8).withView { writes.put(key, $0) } }
    return writes
  }

  /// Appends a batch for each text.
  static func append(_ texts: [String], by writer: LogWriter) throws {
    for text in texts { try writer.append(batch(text)) }
  }

  /// When the lease of a node ends, in microseconds.
  static func endOfLease(_ node: String, _ settings: ClusterSettings) throws -> Int64 {
    let statement = PostgresStatement(
      "SELECT (extract(epoch FROM lease) * 1000000)::int8 FROM ruled.nodes WHERE node = $1::text")
    return try PostgresConnection(settings.url, seconds: 5)
      .execute(statement, [.text(node)], milliseconds: 5000).integer(0, 0)
  }

  /// What the log has, as texts, in its order; each batch is checked to follow the one before.
  static func texts(_ settings: ClusterSettings) throws -> [String] {
    var texts: [String] = []
    var position = LogPosition.start
    let client = LogClient(settings)
    while try client.read(
      after: position, limit: 10,
      { (batch, next) throws(StoreError) in
        position = next
        try LogBatch.forEachCommit(in: batch) { writes in
          writes.forEach { if case .put(_, let value) = $0 { texts.append(String(decoding: value, as: UTF8.self)) } }
        }
      }) > 0
    {}
    #expect(try client.readHead().position == position)
    return texts
  }

  /// The code of the error that `body` throws.
  static func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? StoreError)?.code }
  }

}

extension LogBatch {
  /// Calls `body` with the writes of each commit in `bytes`, in order; the set is valid only during the call.
  static func forEachCommit(in bytes: ByteView, _ body: (WriteSet) throws(StoreError) -> Void) throws(StoreError) {
    let writes = WriteSet(capacity: bytes.count)
    try forEachCommit(in: bytes, into: writes) { () throws(StoreError) in
      try body(writes)
      writes.removeAll()
    }
  }
}

/// Ends the shared server: a static property is never released.
private func endSharedServer() { Cluster.server.remove() }
