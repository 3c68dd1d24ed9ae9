import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// More connections, and more watches, than there is room for.
  @Suite(.oneDaemon("it is about the connections of one process")) struct CrowdTests {
    private static let rules = [
      "p/plugin.lua": """
      plugin { name = "p", version = "1" }
      rule "count" { on = "count", run = function(event, state) state.n = (state.n or 0) + 1 end }
      web "site.example" (function(request) return { status = 200, body = "the site" } end)
      """
    ]

    /// A port of 127.0.0.1 that nothing listens on, below those that the kernel gives to whoever connects or asks for any port.
    static func freePort() -> UInt16 {
      while true {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        let port = UInt16.random(in: 10_000..<32_768)
        var address = Self.address(port)
        let isFree = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          }
        }
        if isFree { return port }
      }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
      return address
    }

    /// A connection to a port of 127.0.0.1, with a timeout of 180 s on each read.
    static func connection(_ port: UInt16, sending text: String = "") -> Int32 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var limit = timeval(tv_sec: 180, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = Self.address(port)
      _ = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      let bytes = Array(text.utf8)
      _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      return descriptor
    }

    /// What a connection gets in answer to a text, until it is closed.
    static func ask(_ descriptor: Int32, _ text: String) -> String {
      defer { close(descriptor) }
      let bytes = Array(text.utf8)
      _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      var answer: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 4096)
      while case let count = recv(descriptor, &part, part.count, 0), count > 0 { answer += part[..<count] }
      return String(decoding: answer, as: UTF8.self)
    }

    static func get(_ path: String, host: String = "localhost", more: String = "") -> String {
      "GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(more)Connection: close\r\n\r\n"
    }

    @Test(.enabled(if: getuid() == 0))
    func
      `silent connections of other users leave room for administrators and probes, and are told in log, health and metrics`()
      throws
    {
      let daemon = try RuledDaemon(
        rules: Self.rules, configuration: "limits = { connections = 7, reserved = 2 }")
      chmod(daemon.folder.path, 0o755)
      chmod(daemon.socket, 0o666)
      let tool = "\(daemon.folder.path)/rulectl"
      #expect(Program.run("cp", ["\(RuledDaemon.programs)/rulectl", tool]).code == 0)
      func words(_ words: [String]) -> [String] {
        ["--reuid", "65534", "--regid", "65534", "--clear-groups", tool, "--socket", daemon.socket] + words
      }
      let first = try daemon.client()
      #expect(try eventually { try first.call("health")["connections"]?["open"] == 1 })
      let watchers = (0..<4).map { _ in
        Program.spawn("setpriv", words(["watch"]), output: "\(daemon.folder.path)/watched")
      }
      defer {
        for watcher in watchers {
          kill(watcher, SIGKILL)
          _ = Program.wait(watcher)
        }
      }
      #expect(
        try eventually { try first.call("health")["connections"]?["open"] == 5 })
      let refused = Program.run("setpriv", words(["event", "count", "a"]))
      #expect(refused.code != 0 && refused.output.holds("limits.connections"), "\(refused)")
      #expect(try daemon.client().event("count", "a")["version"] == 1)
      let health = try first.call("health")
      #expect(health["status"] == "ready" && health.text.holds("5 of the 7 that limits.connections"), "\(health.text)")
      #expect(health.text.holds("4 of them by user 65534"), "\(health.text)")
      #expect(eventually { daemon.log.holds("connections are refused") })
      let scrape = try daemon.client()
      scrape.send(Self.get("/metrics"))
      let counts = scrape.remainingLines().filter { $0.hasPrefix("ruled_refused_total{reason=\"connections\"}") }
      #expect(counts.count == 1 && !counts[0].hasSuffix(" 0"), "\(counts)")
      var others: [Client] = []
      let areTaken = try eventually {
        let client = try daemon.client()
        others.append(client)
        return (try? client.reply("health"))?["result"] == nil
      }
      #expect(areTaken)
      let before = try first.call("health")["connections"]?["refused"]?["connections"]
      let probe = try daemon.client()
      probe.send(Self.get("/livez"))
      #expect(probe.line()?.hasPrefix("HTTP/1.1 200") == true)
      #expect(try first.call("health")["connections"]?["refused"]?["connections"] == before)
    }

    @Test
    func `a new connection takes the place of one that has been idle for too long, and not of one that watches`() throws
    {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "limits = { connections = 3, idle_s = 1 }")
      let watcher = try daemon.client()
      #expect(
        try eventually { try watcher.call("health")["connections"]?["open"] == 1 })
      let (idle, other) = (try daemon.client(), try daemon.client())
      _ = try watcher.call("watch", ["subject": "a"])
      _ = try idle.call("health")
      #expect(
        try eventually {
          _ = try other.call("health")
          let client = try daemon.client()
          client.send(Load.event("1", "count", "a", "{}").line)
          return client.line()?.holds("\"version\":1") == true
        })
      #expect(watcher.line()?.holds("changed") == true)
      #expect(idle.line() == nil)
    }

    @Test
    func `over TCP probes are answered though all connections are taken, and other requests are not`() throws {
      let port = Self.freePort()
      let folder = TemporaryFolder()
      folder.replace("token", with: String(repeating: "t", count: 40))
      chmod("\(folder.path)/token", 0o600)
      let daemon = try RuledDaemon(
        rules: Self.rules,
        configuration: """
          limits = { connections = 5, reserved = 2 }
          http = { listen = "127.0.0.1:\(port)", token_file = "\(folder.path)/token", role = "admin" }
          """)
      let client = try daemon.client()
      #expect(try eventually { try client.call("health")["connections"]?["open"] == 1 })
      let slow = (1...2).map { _ in Self.connection(port, sending: "GET") }
      defer { for descriptor in slow { close(descriptor) } }
      #expect(try eventually { try client.call("health")["connections"]?["open"] == 3 })
      let token = "Authorization: Bearer \(String(repeating: "t", count: 40))\r\n"
      let refused = Self.ask(Self.connection(port), Self.get("/v1/rules", more: token))
      #expect(refused.hasPrefix("HTTP/1.1 429"), "\(refused)")
      for path in ["/livez", "/readyz", "/healthz"] {
        // A connection that says nothing for 2 s is turned away.
        #expect(eventually { Self.ask(Self.connection(port), Self.get(path)).hasPrefix("HTTP/1.1 200") }, "\(path)")
      }
      let mute = Self.ask(Self.connection(port), "")
      #expect(mute.hasPrefix("HTTP/1.1 429"), "\(mute)")
      #expect(try client.event("count", "a")["version"] == 1)
    }

    @Test
    func `visitors of sites take no place from other clients`() throws {
      let port = Self.freePort()
      let daemon = try RuledDaemon(
        rules: Self.rules,
        configuration: "limits = { connections = 2 }\nhttp = { sites = \"127.0.0.1:\(port)\" }")
      #expect(Self.ask(Self.connection(port), Self.get("/", host: "site.example")).hasSuffix("the site"))
      var visitors: [Int32] = []
      defer { for descriptor in visitors { close(descriptor) } }
      let isFull = eventually {
        visitors.append(Self.connection(port, sending: "GET"))
        return Self.ask(Self.connection(port), Self.get("/", host: "site.example")).hasPrefix("HTTP/1.1 429")
      }
      #expect(isFull)
      #expect(try daemon.client().event("count", "a")["version"] == 1)
    }

    @Test
    func `20,000 watches on one connection are refused beyond 100, and others are served meanwhile`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      let crowd = try daemon.client()
      let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"watch\",\"params\":{\"subject\":\"a\"}}\n"
      var (begun, refused) = (0, 0)
      for round in 1...20 {
        crowd.send(String(repeating: line, count: 1_000))
        if round == 1 { #expect(try daemon.client().event("count", "a")["version"] == 1) }
        while begun + refused < round * 1_000, let reply = crowd.line() {
          if reply.holds("\"result\"") { begun += 1 }
          if reply.holds("100 watches") { refused += 1 }
        }
      }
      #expect(begun == 100 && refused == 19_900)
      #expect(try daemon.client().event("count", "a")["version"] == 2)
      var changes = 0
      while changes < 100, let news = crowd.line() { if news.holds("\"version\":2") { changes += 1 } }
      #expect(changes == 100)
    }
  }
}
