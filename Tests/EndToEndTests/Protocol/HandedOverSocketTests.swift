import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// TCP sockets that the daemon gets as systemd hands them over.
  @Suite(.oneDaemon("sockets are handed over to one process")) struct HandedOverSocketTests {
    private static let rules = [
      "p/plugin.lua": """
      plugin { name = "p", version = "1" }
      web "site.example" (function(request)
        if request.path == "/fail" then error("broken") end
        return { status = request.path == "/wrong" and "x" or 200, body = "the site" }
      end)
      """
    ]

    /// A TCP socket that listens on a port of 127.0.0.1; a program that is started gets it, too.
    private struct Listening: ~Copyable {
      let descriptor: Int32
      let port: UInt16

      init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
            bind(descriptor, name, length) == 0 && listen(descriptor, 16) == 0
              && getsockname(descriptor, name, &length) == 0
          }
        }
        port = UInt16(bigEndian: address.sin_port)
        try #require(isListening)
      }

      deinit { close(descriptor) }

      static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        return address
      }

      /// The response to a request for a host.
      func ask(_ path: String, host: String) -> String {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(connection) }
        var address = Self.address(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          }
        }
        guard isConnected else { return "not connected" }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8)
        guard send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return "not sent" }
        var response: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(connection, &part, part.count, 0), count > 0 { response += part[..<count] }
        return String(decoding: response, as: UTF8.self)
      }

      /// What a shell does before it becomes a program, to hand the socket over.
      var handOver: String {
        "exec 3<&\(descriptor); [ \(descriptor) = 3 ] || exec \(descriptor)<&-; export LISTEN_FDS=1 LISTEN_PID=$$"
      }
    }

    @Test
    func `a socket that is handed over for http.sites serves the plugins' sites alone, also with a courier`() throws {
      let socket = try Listening()
      let daemon = try RuledDaemon(
        rules: Self.rules,
        configuration: """
          delivery = "courier"
          http = { sites = "127.0.0.1:\(socket.port)" }
          """,
        preparation: socket.handOver)
      let site = socket.ask("/any", host: "site.example")
      #expect(site.hasPrefix("HTTP/1.1 200") && site.hasSuffix("the site"), "\(site)")
      for path in ["/healthz", "/metrics", "/v1/rules"] {
        #expect(socket.ask(path, host: "localhost").hasPrefix("HTTP/1.1 404"))
      }
      daemon.end(SIGTERM)
    }

    @Test func `strangers who make a web handler fail write one line for each reason`() throws {
      let socket = try Listening()
      let configuration = "http = { sites = \"127.0.0.1:\(socket.port)\" }"
      let daemon = try RuledDaemon(rules: Self.rules, configuration: configuration, preparation: socket.handOver)
      for _ in 0..<20 {
        for path in ["/fail", "/wrong"] {
          #expect(socket.ask(path, host: "site.example").hasPrefix("HTTP/1.1 500"))
        }
      }
      daemon.end(SIGTERM)
      let lines = daemon.log.split(separator: "\n").filter { $0.contains("the web handler of") }
      #expect(lines.count == 2, "\(lines)")
    }

    @Test
    func `a socket at no configured address is refused by the start and the check, and the message names the keys`()
      throws
    {
      let socket = try Listening()
      let error = #expect(throws: Client.Gone.self) {
        _ = try RuledDaemon(rules: Self.rules, preparation: socket.handOver)
      }
      #expect(error?.description.holds("neither http.listen nor http.sites") == true, "\(error?.description ?? "")")
      let check = Self.check(socket.handOver)
      #expect(check.code == 1 && check.output.holds("neither http.listen nor http.sites"), "\(check.output)")
    }

    /// Checks rules and configuration as a process that gets sockets by `handOver`.
    private static func check(_ handOver: String) -> (code: Int32, output: String) {
      let folder = TemporaryFolder()
      for (name, text) in rules { folder.replace("rules/\(name)", with: text) }
      return Program.run(
        "bash",
        [
          "-c", "\(handOver); exec \"$0\" \"$@\"", "\(RuledDaemon.programs)/ruled", "--check", "--rules",
          folder("rules"), "--store", "memory:", "--socket", folder("s"),
        ])
    }

    /// A Unix socket of a kind, bound to a path; a program that is started gets it, too.
    private static func unixSocket(_ path: String, _ kind: __socket_type) throws -> Int32 {
      let descriptor = socket(AF_UNIX, Int32(kind.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let isBound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
      try #require(isBound)
      if kind == SOCK_STREAM { try #require(listen(descriptor, 16) == 0) }
      return descriptor
    }

    /// What a shell does before it becomes a program, to hand two sockets over; their numbers are above 9.
    private static func handOver(_ first: Int32, _ second: Int32, names: String) -> String {
      "exec 3<&\(first) 4<&\(second) \(first)<&- \(second)<&-; "
        + "export LISTEN_FDS=2 LISTEN_PID=$$ LISTEN_FDNAMES=\(names)"
    }

    @Test
    func `two Unix sockets that are handed over are both served`() throws {
      let folder = TemporaryFolder()
      for (name, text) in Self.rules { folder.replace("rules/\(name)", with: text) }
      let sockets = try ["a", "b"].map { fcntl(try Self.unixSocket("\(folder.path)/\($0)", SOCK_STREAM), F_DUPFD, 10) }
      let process = Program.spawn(
        "bash",
        [
          "-c", "\(Self.handOver(sockets[0], sockets[1], names: "a:b")); exec \"$0\" \"$@\"",
          "\(RuledDaemon.programs)/ruled", "--rules", "\(folder.path)/rules", "--store", "memory:",
        ], output: "\(folder.path)/log")
      defer {
        kill(process, SIGKILL)
        _ = Program.wait(process)
        for socket in sockets { close(socket) }
      }
      for name in ["a", "b"] {
        #expect(try Client("\(folder.path)/\(name)").call("health")["status"] == "ready", "\(folder.read("log"))")
      }
      #expect(eventually { folder.read("log").holds("serving on \(folder.path)/a, \(folder.path)/b") })
    }

    @Test
    func `a descriptor that nobody would serve is refused by its name`() throws {
      let folder = TemporaryFolder()
      let first = fcntl(try Self.unixSocket("\(folder.path)/a", SOCK_STREAM), F_DUPFD, 10)
      let second = fcntl(try Self.unixSocket("\(folder.path)/b", SOCK_DGRAM), F_DUPFD, 10)
      defer { for socket in [first, second] { close(socket) } }
      let end = Program.run(
        "bash",
        [
          "-c", "\(Self.handOver(first, second, names: "lines:packets")); exec \"$0\" \"$@\"",
          "\(RuledDaemon.programs)/ruled", "--rules", "\(folder.path)/rules", "--store", "memory:",
        ])
      #expect(end.code == 2 && end.output.holds("'packets' (descriptor 4)"), "\(end.output)")
      let check = Self.check(Self.handOver(first, second, names: "lines:packets"))
      #expect(check.code == 1 && check.output.holds("'packets' (descriptor 4)"), "\(check.output)")
    }

    @Test(arguments: ["listen", "sites"])
    func `with a courier and no socket, the start and the check name the unit that opens it`(key: String) {
      let folder = TemporaryFolder()
      folder.replace("token", with: "secret")
      folder.replace(
        "conf.lua",
        with: """
          delivery = "courier"
          couriers = { "root" }
          store = "memory:"
          http = { \(key) = "127.0.0.1:1", token_file = "\(folder.path)/token" }
          """)
      folder.write("rules/p/plugin.lua", "plugin { name = \"p\", version = \"1\" }\n")
      let words = ["--config", folder("conf.lua"), "--socket", folder("s"), "--rules", folder("rules")]
      let end = Program.run("\(RuledDaemon.programs)/ruled", words)
      let unit = key == "sites" ? "ruled-sites.socket" : "ruled-http.socket"
      #expect(end.code == 2 && end.output.holds(unit), "\(end.output)")
      let check = Program.run("\(RuledDaemon.programs)/ruled", words + ["--check"])
      let finding = "\(folder("conf.lua")):4: http.\(key): "
      #expect(check.code == 1 && check.output.hasPrefix(finding) && check.output.holds(unit), "\(check.output)")
    }
  }
}
