import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Rules that are longer than a request: they come in parts.
  @Suite struct LongRulesTests {
    @Test func `rules with megabytes of data are explained, tried as a shadow and rolled out`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": RolloutTests.rules(1)])
      _ = try daemon.client().event("ask", "user:1", [:], with: ["id": "e1"])
      daemon.folder.write("next/numbered/plugin.lua", RolloutTests.rules(2))
      let words = repeatElement("\"Größe \\\"quoted\\\"\"", count: 120_000).joined(separator: ",")
      daemon.folder.write("next/numbered/words.json", "[\(words)]")
      for words in [
        ["explain", "user:1", "e1", "--rules", daemon.folder("next")], ["shadow", "start", daemon.folder("next")],
        ["shadow", "stop"], ["rollout", "start", daemon.folder("next"), "--percent", "100"],
      ] {
        let run = Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
        #expect(run.code == 0, "\(words[0]): \(run.output.suffix(400))")
        #expect(words[0] != "explain" || run.output.contains("+ numbered.number = 2"), "\(run.output)")
      }
      #expect(try daemon.client().event("ask", "user:2")["decisions"] == ["numbered": ["number": 2]])
    }

    @Test func `an upload is named by the first part, serves one request, and is refused where it is unknown`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": RolloutTests.rules(1)])
      let client = try daemon.client()
      let text = JSONValue.object([
        "plugins": [
          [
            "name": "numbered",
            "modules": [["path": "numbered/plugin.lua", "text": .string(RolloutTests.rules(2))]],
          ]
        ]
      ]).text
      let first = try client.call("upload", ["text": .string(String(text.prefix(100)))])
      #expect(first["bytes"] == 100)
      let upload = first["upload"] ?? .null
      let whole = try client.call("upload", ["upload": upload, "text": .string(String(text.dropFirst(100)))])
      #expect(whole == ["upload": upload, "bytes": .integer(Int64(text.utf8.count))])
      let params: JSONValue = ["rules": ["upload": upload], "percent": 50]
      #expect(try client.call("rollout_start", params)["state"] == "running")
      _ = try client.call("rollout_abort")
      let used = try client.failure("rollout_start", params)
      #expect(used["data"]?["path"] == "params.rules.upload", "\(used.text)")
      #expect(try client.failure("upload", ["upload": "none", "text": "x"])["data"]?["code"] == "not_found")
      let broken = try client.call("upload", ["text": "{"])["upload"] ?? .null
      let refused = try client.failure("shadow_start", ["rules": ["upload": broken], "percent": 50])
      #expect(refused["message"]?.stringValue?.isEmpty == false && refused["code"] == used["code"], "\(refused.text)")
    }
  }
}
