import RuledCore
import RuledTool
import Testing

struct ClusterCommandTests {
  @Test func `Nodes are listed with their roles and positions, then the log`() throws {
    let nodes = ["a", "b", "c"].map { name -> JSONValue in
      [
        "name": .string(name), "address": .string("\(name).example"), "role": name == "b" ? "owner" : "follower",
        "drained": .bool(name == "c"), "lease_left_ms": 4200, "sequence": 4711, "behind": 0, "version": "0.1.0",
        "process": "02557352-ab",
      ]
    }
    let daemon = try FakeDaemon(result: [
      "node": "a", "owner": "b", "nodes": .array(nodes), "log": ["epoch": 3, "sequence": 4711, "bytes": 1024],
    ])
    defer { daemon.stop() }
    #expect(
      Run("cluster", on: daemon).output == """
        node  role               lease  sequence  behind  version  process   address
        a     follower           4.2 s      4711       0  0.1.0    02557352  a.example
        b     owner              4.2 s      4711       0  0.1.0    02557352  b.example
        c     follower, drained  4.2 s      4711       0  0.1.0    02557352  c.example

        log       epoch 3, sequence 4711, 1 KiB

        """)
    #expect(daemon.requests.map(\.method) == ["cluster"])
  }

  @Test(arguments: [
    (["undrain", "a", "--force"], "--force belongs to 'rulectl cluster drain NODE'"),
    (["drain"], "name the node: rulectl cluster drain NODE"),
    (["balance"], "there is no 'cluster balance'; write drain or undrain"),
  ])
  func `Words that don't belong together are refused`(_ words: [String], _ message: String) throws {
    let run = Run(words: ["cluster"] + words)
    #expect(run.exit != .done && run.errors.contains(message))
  }
}
