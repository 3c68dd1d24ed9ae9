import RuledCore
import RuledTool
import Testing

/// `rulectl cluster`.
struct ClusterCommandTests {
  private static func cluster(_ partitions: [JSONValue], moves: JSONValue) -> JSONValue {
    let nodes = zip(["a", "b", "c"], partitions).map { name, partitions -> JSONValue in
      [
        "name": .string(name), "address": .string("\(name).example"), "role": name == "b" ? "owner" : "follower",
        "drained": .bool(name == "c"), "partitions": partitions, "lease_left_ms": 4200, "sequence": 4711, "behind": 0,
        "version": "0.1.0", "process": "02557352-ab",
      ]
    }
    return [
      "node": "a", "owner": "b", "nodes": .array(nodes),
      "log": ["epoch": 3, "sequence": 4711, "bytes": 1024, "moves": moves],
    ]
  }

  private static let text = """
    node  role               partitions  lease  sequence  behind  version  process   address
    a     follower                  128  4.2 s      4711       0  0.1.0    02557352  a.example
    b     owner                     128  4.2 s      4711       0  0.1.0    02557352  b.example
    c     follower, drained           0  4.2 s      4711       0  0.1.0    02557352  c.example

    log       epoch 3, sequence 4711, 1 KiB
    moves     4 since node b owns the log

    """

  @Test func `Nodes are listed with the partitions that they evaluate`() throws {
    let daemon = try FakeDaemon(result: Self.cluster([128, 128, 0], moves: 4))
    defer { daemon.stop() }
    #expect(Run("cluster", on: daemon).output == Self.text)
    #expect(daemon.requests.map(\.method) == ["cluster"])
  }

  @Test func `What is not known of the partitions is not shown`() throws {
    let daemon = try FakeDaemon(result: Self.cluster([.null, .null, .null], moves: .null))
    defer { daemon.stop() }
    let output = Run("cluster", on: daemon).output
    #expect(!output.contains("partitions") && !output.contains("moves"))
    #expect(output.contains("a     follower           4.2 s"))
  }

  @Test func `Rebalancing shows the cluster afterwards`() throws {
    let daemon = try FakeDaemon(result: Self.cluster([128, 128, 0], moves: 4))
    defer { daemon.stop() }
    let run = Run("cluster", "rebalance", on: daemon)
    #expect(run.output == Self.text && run.exit == .done)
    #expect(daemon.requests.map(\.method) == ["cluster_rebalance"])
    #expect(daemon.requests.first?.params == [:])
  }

  @Test func `The node that evaluates for a subject is named`() throws {
    let daemon = try FakeDaemon(result: ["subject": "user:1", "partition": 17, "node": "b"])
    defer { daemon.stop() }
    let run = Run("cluster", "where", "user:1", on: daemon)
    #expect(run.output == "node b evaluates for user:1, which is in partition 17\n" && run.exit == .done)
    #expect(daemon.requests.map(\.method) == ["cluster_where"])
    #expect(daemon.requests.first?.params == ["subject": "user:1"])
  }

  @Test(arguments: [
    (["where"], "name the subject: rulectl cluster where SUBJECT"),
    (["where", "user:1", "--force"], "--force belongs to 'rulectl cluster drain NODE'"),
    (["rebalance", "a"], "'rulectl cluster rebalance' is about all nodes: name none"),
    (["rebalance", "--force"], "--force belongs to 'rulectl cluster drain NODE'"),
    (["undrain", "a", "--force"], "--force belongs to 'rulectl cluster drain NODE'"),
    (["drain"], "name the node: rulectl cluster drain NODE"),
    (["balance"], "there is no 'cluster balance'; write drain, undrain, rebalance or where"),
  ])
  func `Words that don't belong together are refused`(_ words: [String], _ message: String) throws {
    let run = Run(words: ["cluster"] + words)
    #expect(run.exit != .done && run.errors.contains(message))
  }
}
