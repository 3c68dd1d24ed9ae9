import Glibc
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
      (#"http = { listen = "127.0.0.1:8787", token_file = "/no/such/token" }"#, "http.token_file: /no/such/token"),
      (#"socket = "/dev/null/s""#, "socket: /dev/null is no folder"),
      (#"store = "rocksdb:/dev/null""#, "store: /dev/null is a device"),
    ])
    func `the checks find each mistake that the start refuses, with file and line`(_ line: String, _ finding: String) {
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
      #expect(Self.findings(output) == Self.findings(other))
      let (start, refusal) = Self.run("ruled", config)
      #expect(start == 2 && !refusal.isEmpty, "\(start): \(refusal)")
    }

    @Test(.oneDaemon("it is about the files of a store"))
    func `the check finds a socket's path that is too long, and damage of a store that no daemon has open`() throws {
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": "plugin { name = \"p\", version = \"1\" }\n"])
      func check(_ words: String...) -> (code: Int32, output: String) {
        let usual = ["--rules", daemon.folder("rules"), "--store", "rocksdb:\(daemon.store)"]
        return Self.run("ruled", usual + ["--socket", daemon.socket, "--check"] + words)
      }
      let long = daemon.folder(String(repeating: "s", count: 108))
      #expect(check("--socket", long).output.contains("\(long): not a socket path"))
      daemon.end(SIGKILL)
      #expect(check().code == 0)
      #expect(Program.run("/bin/mv", [daemon.folder("store/journal"), daemon.folder("moved")]).code == 0)
      daemon.folder.write("store/journal", "no folder")
      let noted = check()
      #expect(noted.code == 0 && noted.output.contains("journal: \(daemon.store)/journal"), "\(noted)")
      unlink(daemon.folder("store/journal"))
      daemon.folder.replace("store/log.manifest", with: "")
      let (code, output) = check()
      #expect(code == 1 && output.contains("store: \(daemon.store)/log.manifest is damaged at byte 0"), "\(output)")
      let refused = daemon.rival()
      #expect(refused.code == 2 && refused.output.contains("log.manifest is damaged at byte 0"), "\(refused)")
      #expect(daemon.rival(ofSystemd: true).code == 78, "a restart would meet the same")
    }

    @Test(arguments: ["ruled", "ruled-courier"])
    func `systemd does not restart a program whose configuration is refused`(_ program: String) {
      let folder = TemporaryFolder()
      folder.write("conf.lua", "colour = \"red\"\n")
      let words = ["\(RuledDaemon.programs)/\(program)", "--config", folder("conf.lua")]
      #expect(Program.run("/usr/bin/env", words).code == 2)
      let service = Program.run("/usr/bin/env", ["NOTIFY_SOCKET=\(folder("notify"))"] + words)
      let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
      let unit = TemporaryFolder.read("\(root)/systemd/\(program).service")
      #expect(service.code == 78 && unit.contains("\nRestartPreventExitStatus=78\n"), "\(service)")
      let missing = ["NOTIFY_SOCKET=\(folder("notify"))"] + words.dropLast() + [folder("none")]
      #expect(Program.run("/usr/bin/env", missing).code == 2, "the disk that it is on may come")
    }

    /// The lines that name a file and a line.
    private static func findings(_ output: String) -> [Substring] {
      output.split(separator: "\n").filter { $0.hasPrefix("/") }
    }

    /// A port that another process, this one, listens on while `body` runs.
    private static func withTakenPort(_ body: (Int) throws -> Void) throws {
      let taken = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      defer { close(taken) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isTaken = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
          bind(taken, name, length) == 0 && listen(taken, 1) == 0 && getsockname(taken, name, &length) == 0
        }
      }
      try #require(isTaken)
      try body(Int(UInt16(bigEndian: address.sin_port)))
    }

    @Test func `a socket that another program listens on is found`() throws {
      let folder = TemporaryFolder()
      folder.write("rules/p/plugin.lua", "plugin { name = \"p\", version = \"1\" }\n")
      let taken = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      defer { close(taken) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: folder("s").utf8) }
      let isTaken = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(taken, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(taken, 1) == 0
        }
      }
      try #require(isTaken)
      let words = ["--rules", folder("rules"), "--store", "memory:", "--socket", folder("s")]
      let (code, output) = Self.run("ruled", words + ["--check"])
      #expect(code == 1 && output.contains("socket: \(folder("s")) is in use by another program"), "\(output)")
      #expect(Self.run("ruled", words).code == 2)
    }

    @Test(.oneDaemon("it is about the files of a store"))
    func `a socket on which a daemon serves another store is found`() throws {
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": "plugin { name = \"p\", version = \"1\" }\n"])
      let words = ["--rules", daemon.folder("rules"), "--socket", daemon.socket, "--check", "--store"]
      let same = Self.run("ruled", words + ["rocksdb:\(daemon.store)"])
      #expect(same.code == 0, "\(same.output)")
      let (code, output) = Self.run("ruled", words + ["rocksdb:\(daemon.folder("other"))"])
      #expect(
        code == 1 && output.contains("socket: \(daemon.socket) is in use by a ruled with another store"), "\(output)")
      #expect(daemon.rival(store: "rocksdb:\(daemon.folder("other"))").code == 2)
    }

    @Test(arguments: ["--check", "--help", "--version"])
    func `output that can't be written fails the program`(option: String) {
      let folder = TemporaryFolder()
      folder.write("rules/p/plugin.lua", "plugin { name = \"p\", version = \"1\" }\n")
      let words = "\(option) --store memory: --rules \(folder("rules")) --socket \(folder("s"))"
      let (code, output) = Program.run("/bin/sh", ["-c", "'\(RuledDaemon.programs)/ruled' \(words) >/dev/full"])
      #expect(code == 2 && output.contains("the output is not whole"), "\(code): \(output)")
    }

    @Test(arguments: [
      ["--check", "--salvage"], ["--restore", "/none", "--import", "/none"], ["--check", "--hold-effects"],
    ])
    func `options that ask for different things are refused`(options: [String]) {
      let (code, output) = Self.run("ruled", options + ["--store", "memory:"])
      let reason = options.last == "--hold-effects" ? "belongs to --restore" : "don't go together"
      #expect(code == 2 && output.contains(reason), "\(output)")
    }

    @Test(.oneDaemon("it is about the sockets of one process"))
    func `an address that another program listens on is found while the daemon runs`() throws {
      try Self.withTakenPort { port in
        let folder = TemporaryFolder()
        let daemon = try RuledDaemon(rules: ["p/plugin.lua": "plugin { name = \"p\", version = \"1\" }\n"])
        folder.write("conf.lua", Self.configuration(#"listen = "127.0.0.1:\#(port)""#, in: folder))
        let words = ["--config", folder("conf.lua"), "--rules", daemon.folder("rules"), "--socket", daemon.socket]
        let (code, output) = Self.run("ruled", words + ["--check"])
        #expect(code == 1 && output.contains("127.0.0.1:\(port) is in use by another process"), "\(output)")
      }
    }

    private static func configuration(_ http: String, in folder: TemporaryFolder) -> String {
      folder.write("token", "secret")
      return """
        rules = "\(folder("rules"))"
        store = "memory:"
        http = { token_file = "\(folder("token"))", \(http) }

        """
    }

    @Test(arguments: ["listen", "sites"])
    func `an address that another process listens on is found`(_ key: String) throws {
      let folder = TemporaryFolder()
      folder.write("rules/p/plugin.lua", "plugin { name = \"p\", version = \"1\" }\n")
      try Self.withTakenPort { port in
        let other = key == "sites" ? "listen = \"127.0.0.2:\(port)\", " : ""
        folder.write("conf.lua", Self.configuration(#"\#(other)\#(key) = "127.0.0.1:\#(port)""#, in: folder))
        let words = ["--config", folder("conf.lua"), "--socket", folder("s")]
        let (code, output) = Self.run("ruled", words + ["--check"])
        let finding = "\(folder("conf.lua")):3: http.\(key): 127.0.0.1:\(port) is in use by another process"
        #expect(code == 1 && output.hasPrefix(finding), "\(output)")
        #expect(Self.run("ruled", words).code == 2)
      }
    }

    @Test func `few descriptors are an error of the check of a node, not its process's end`() throws {
      let folder = TemporaryFolder()
      folder.write("rules/p/plugin.lua", "plugin { name = \"p\", version = \"1\" }\n")
      let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
      try #require(Program.run("\(root)/examples/cluster/make-certificates", [folder("tls"), "a=127.0.0.1"]).code == 0)
      var port = 0
      try Self.withTakenPort { port = $0 }
      folder.write(
        "conf.lua",
        """
        rules = "\(folder("rules"))"
        store = "postgresql:///none"
        cluster = { node = "a", folder = "\(folder("store"))", listen = "127.0.0.1:\(port)", authority = "\(folder("tls"))/authority.pem",
          certificate = "\(folder("tls"))/a/node.pem", key = "\(folder("tls"))/a/node.key" }

        """)
      let check = "exec \(RuledDaemon.programs)/ruled --socket \(folder("s")) --config \(folder("conf.lua")) --check"
      let ends = (4...24).map { limit in Program.run("/bin/sh", ["-c", "ulimit -n \(limit); \(check)"]) }
      for (code, output) in ends { #expect(code == 1 && output.contains("open files"), "\(code): \(output)") }
    }

    @Test func `an address that the running daemon listens on is not found, and is free after a check`() throws {
      let folder = TemporaryFolder()
      let text = Self.configuration(#"listen = "127.0.0.1:\#(CrowdTests.freePort())""#, in: folder)
      let rules = ["p/plugin.lua": "plugin { name = \"p\", version = \"1\" }\n"]
      let daemon = try RuledDaemon(rules: rules, configuration: text)
      let words = ["--config", daemon.folder("ruled.conf.lua"), "--rules", daemon.folder("rules"), "--check"]
      let running = Self.run("ruled", words + ["--socket", daemon.socket])
      #expect(running.code == 0, "\(running.output)")
      let other = Self.run("ruled", words + ["--socket", folder("another")])
      #expect(other.code == 1 && other.output.contains("in use by another process"), "\(other.output)")
      daemon.end(SIGTERM)
      let free = Self.run("ruled", words + ["--socket", daemon.socket])
      #expect(free.code == 0, "\(free.output)")
    }
  }
}
