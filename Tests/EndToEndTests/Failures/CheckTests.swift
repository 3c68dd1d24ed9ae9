import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// What `ruled --check` and `rulectl check --config` say of what a start would refuse.
  @Suite struct CheckTests {
    private static func run(_ program: String, _ arguments: [String]) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/\(program)", arguments)
    }

    @Test(arguments: [
      (#"http = { listen = "127.0.0.1:0", token_file = "/no/such/token" }"#, "http.token_file: /no/such/token"),
      (#"socket = "/dev/null/s""#, "socket: /dev/null is no folder"),
      (#"store = "rocksdb:/dev/null""#, "store: /dev/null is a device"),
    ])
    func `what the start refuses, the checks find with file and line`(_ line: String, _ finding: String) {
      let folder = TemporaryFolder()
      folder.write("rules/p/plugin.lua", "plugin { name = \"p\", version = \"1\" }\n")
      folder.write(
        "conf.lua",
        """
        rules = "\(folder("rules"))"
        socket = "\(folder("s"))"
        store = "memory:"
        \(line)

        """)
      let config = ["--config", folder("conf.lua")]
      let (code, output) = Self.run("ruled", config + ["--check"])
      #expect(code == 1 && output.contains("\(folder("conf.lua")):4: \(finding)"), "\(code): \(output)")
      let (second, other) = Self.run("rulectl", ["check", folder("rules")] + config)
      #expect(second == 1 && other.contains("\(folder("conf.lua")):4: \(finding)"), "\(second): \(other)")
      let (start, refusal) = Self.run("ruled", config)
      #expect(start == 2 && !refusal.isEmpty, "\(start): \(refusal)")
    }
  }
}
