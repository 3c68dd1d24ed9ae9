import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Effects on their way to a real receiver over HTTPS, from the daemon or from a courier.
  @Suite(.oneDaemon("a node opens network sockets")) struct CourierTests {
    private static let rules = [
      "p/plugin.lua": """
      plugin { name = "p", version = "1", sinks = { "out" } }
      rule "tell" { on = "tell", run = function(event) emit("out", "told", { n = event.data.n }) end }
      """
    ]

    /// Becomes the program that its arguments name, which can then open Unix sockets only.
    private static let seal = """
      import ctypes, os, struct, sys
      def step(code, yes, no, value): return struct.pack("HBBI", code, yes, no, value)
      allow, refuse = 0x7FFF0000, 0x00050000 | 97  # EAFNOSUPPORT
      steps = [step(0x20, 0, 0, 0), step(0x15, 0, 3, 41), step(0x20, 0, 0, 16), step(0x15, 1, 0, 1)]
      filter = b"".join(steps + [step(0x06, 0, 0, refuse), step(0x06, 0, 0, allow)])
      class Program(ctypes.Structure):
          _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_char_p)]
      libc = ctypes.CDLL(None, use_errno=True)
      program = Program(len(filter) // 8, filter)
      assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
      os.execv(sys.argv[1], sys.argv[1:])
      """

    private let receiver: HTTPSReceiver

    init() throws { receiver = try HTTPSReceiver() }

    private func configuration(_ delivery: String, cert: String = "client", ca: String = "server") -> String {
      """
      delivery = "\(delivery)"
      sinks = { out = { url = "\(receiver.url("/in"))", cert = "\(receiver.folder(cert)).pem",
        ca = "\(receiver.folder(ca)).crt" } }
      """
    }

    /// A daemon that can open Unix sockets only.
    private func sealedDaemon(_ configuration: String) throws -> RuledDaemon {
      receiver.folder.replace("seal.py", with: Self.seal)
      return try RuledDaemon(
        rules: Self.rules, configuration: configuration,
        preparation: "exec python3 \(receiver.folder("seal.py")) \"$0\" \"$@\"")
    }

    private func courier(of daemon: RuledDaemon) -> pid_t {
      Program.spawn(
        "\(RuledDaemon.programs)/ruled-courier",
        ["--config", "\(daemon.folder.path)/ruled.conf.lua", "--socket", daemon.socket],
        output: "\(daemon.folder.path)/courier.log")
    }

    private func end(_ courier: pid_t, _ signal: Int32) -> Int32 {
      kill(courier, signal)
      return Program.wait(courier)
    }

    /// Sends an event; returns the id of its effect.
    private func tell(_ client: Client, _ subject: String) throws -> String {
      try client.event("tell", subject, ["n": 1])["effects"]?[0]?["id"]?.stringValue ?? "?"
    }

    @Test
    func `a courier delivers over HTTPS, with both certificates, for a daemon that can open Unix sockets only`() throws
    {
      let daemon = try sealedDaemon(configuration("courier"))
      let client = try daemon.client()
      let first = try tell(client, "user:1")
      let process = courier(of: daemon)
      let second = try tell(client, "user:2")
      #expect(eventually { Set(receiver.ids) == [first, second] })
      #expect(try eventually { try client.call("effects")["effects"] == .array([]) })
      #expect(try client.call("health")["sinks"]?["out"]?["delivered"] == 2)
      #expect(end(process, SIGTERM) == 0)
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test
    func `a courier that is killed, or whose daemon is, goes on after the restart`() throws {
      let daemon = try sealedDaemon(configuration("courier"))
      var process = courier(of: daemon)
      var ids = [try tell(try daemon.client(), "user:1")]
      #expect(eventually { receiver.ids == ids })
      _ = end(process, SIGKILL)
      ids.append(try tell(try daemon.client(), "user:2"))
      process = courier(of: daemon)
      #expect(eventually { receiver.ids == ids })
      daemon.end(SIGKILL)
      try daemon.start()
      ids.append(try tell(try daemon.client(), "user:3"))
      // An effect that was confirmed just before a kill may be delivered again: at least once.
      #expect(eventually { Set(receiver.ids) == Set(ids) })
      #expect(end(process, SIGTERM) == 0)
      daemon.end(SIGTERM)
    }

    @Test(arguments: ["daemon", "courier"])
    func `a receiver with a wrong certificate gets nothing, and its effects wait`(delivery: String) throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: configuration(delivery, ca: "other"))
      let client = try daemon.client()
      let process = delivery == "courier" ? courier(of: daemon) : nil
      let id = try tell(client, "user:1")
      func effect() throws -> JSONValue? { try client.call("effects")["effects"]?[0] }
      #expect(try eventually { (try effect()?["tries"]?.intValue ?? 0) > 0 })
      let waiting = try effect()
      #expect(waiting?["error"]?.stringValue?.holds("certificate") == true, "\(waiting?.text ?? "")")
      #expect(waiting?["status"] == "waiting" && receiver.ids.isEmpty)
      daemon.folder.replace("ruled.conf.lua", with: configuration(delivery))
      daemon.signal(SIGHUP)
      if let process { kill(process, SIGHUP) }
      #expect(
        try eventually {
          _ = try? client.call("resend", ["id": .string(id)])
          let left = try client.call("effects")["effects"]
          return receiver.ids == [id] && left == .array([])
        })
      if let process { #expect(end(process, SIGTERM) == 0) }
      daemon.end(SIGTERM)
    }

    @Test
    func `a receiver that refuses the client's certificate gets nothing`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: configuration("daemon", cert: "other"))
      let client = try daemon.client()
      _ = try tell(client, "user:1")
      #expect(try eventually { (try client.call("effects")["effects"]?[0]?["tries"]?.intValue ?? 0) > 0 })
      #expect(receiver.ids.isEmpty)
      daemon.end(SIGTERM)
    }
  }
}
