import Glibc
import RuledCore
import RuledJSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  /// What the rules folder may contain, and who waits while it is loaded.
  @Suite struct LoadingTests {
    /// A rule that decides its own number, and a rule with a timer that fires at once.
    private static func rules(_ number: Int) -> String {
      """
      plugin { name = "numbered", version = "\(number)" }
      rule "tell" { on = "ask", run = function() decide("number", \(number)) end }
      rule "set" { on = "set", run = function() timer.set("soon", now(), "due", {}) end }
      rule "due" { on = "due", run = function(event, state) state.isDue = true end }
      """
    }

    /// A plugin that takes a part of its 2 s to load that is small enough for a busy host.
    private static func slow(_ name: String, _ steps: Int = 10_000_000) -> String {
      """
      plugin { name = "\(name)", version = "1" }
      local sum = 0
      for step = 1, \(steps) do sum = sum + step end
      local whole = sum
      rule "tell" { on = "ask", run = function() decide("sum", whole) end }
      """
    }

    // MARK: The folder

    /// An entry that is not allowed in a rules folder.
    enum Hostile: String, CaseIterable {
      case fifo, largeFile, linkToRoot, linkToDevice, linkLoop, linkToFile, linkToFolder, folder, halfSaved

      /// Creates it; returns the file that the error must name, and the path to remove.
      func put(in rules: String) -> (file: String, path: String) {
        let data = "\(rules)/numbered/d.json"
        switch self {
        case .fifo: mkfifo(data, 0o644)
        case .largeFile:
          close(open(data, O_WRONLY | O_CREAT, 0o644))
          truncate(data, 1 << 30)
        case .linkToRoot:
          symlink("/", "\(rules)/root")
          return ("root", "\(rules)/root")
        case .linkToDevice: symlink("/dev/zero", data)
        case .linkLoop: symlink("d.json", data)
        case .linkToFile: symlink("/etc/passwd", data)
        case .linkToFolder:
          mkdir("\(rules)/../outside", 0o755)
          symlink("../outside", "\(rules)/outside")
          return ("outside", "\(rules)/outside")
        case .folder: mkdir(data, 0o755)
        case .halfSaved:
          let source = "\(rules)/numbered/unused.lua"
          if let file = fopen(source, "w") {
            fputs("return {", file)
            fclose(file)
          }
          return ("numbered/unused.lua", source)
        }
        return ("numbered/d.json", data)
      }
    }

    @Test(arguments: Hostile.allCases)
    func
      `an entry that is not allowed in the rules folder is refused by name, and the old rules serve until it is removed`(
        _ hostile: Hostile
      ) throws
    {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let client = try daemon.client()
      let (file, path) = hostile.put(in: "\(daemon.folder.path)/rules")
      let error = try client.failure("reload")
      #expect(error["data"]?["code"] == "reload_failed")
      let errors = error["data"]?["errors"]?.arrayValue ?? []
      #expect(errors.contains { $0["file"]?.stringValue == file }, "\(error.text)")
      #expect(try client.event("ask", "a")["decisions"]?["numbered"]?["number"] == 1)
      #expect(try daemon.client().call("health")["status"] == "ready")
      TemporaryFolder.remove(path)
      daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(2))
      _ = try client.call("reload")
      #expect(try client.event("ask", "a")["decisions"]?["numbered"]?["number"] == 2)
      #expect(try client.call("rules")["errors"] == [])
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test
    func `after a plugin's folder is swapped during a load, the new one is in force`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1), "slow/plugin.lua": Self.slow("slow")])
      let (path, client) = (daemon.folder.path, try daemon.client())
      let asking = try daemon.client()
      for number in 2...5 {
        daemon.folder.replace("staged/plugin.lua", with: Self.rules(number))
        daemon.folder.replace("rules/slow/plugin.lua", with: Self.slow("slow", 5_000_000 + number))
        asking.send(#"{"jsonrpc":"2.0","id":1,"method":"reload"}"# + "\n")
        usleep(10_000 * UInt32(number))  // each round at another moment of the load
        rename("\(path)/rules/numbered", "\(path)/old\(number)")
        rename("\(path)/staged", "\(path)/rules/numbered")
        #expect(asking.line() != nil)
        _ = try client.call("reload")
        #expect(try client.event("ask", "a")["decisions"]?["numbered"]?["number"] == .integer(Int64(number)))
        #expect(try client.event("ask", "a")["failures"] == [])
      }
    }

    // MARK: Who waits

    /// How many plugins load slowly.
    private static let slowPlugins = 24

    /// Begins a load of plugins that differ from those of other rounds; returns the client that waits for it.
    private static func beginReload(_ daemon: RuledDaemon, round: Int = 0) throws -> Client {
      for number in 1...slowPlugins {
        daemon.folder.replace("rules/slow\(number)/plugin.lua", with: slow("slow\(number)", 10_000_000 + round))
      }
      func spent() -> Int { daemon.ticks(ofThreads: "ruled-loader", digits: false) }
      let before = spent()
      let client = try daemon.client()
      client.send(#"{"jsonrpc":"2.0","id":1,"method":"reload"}"# + "\n")
      #expect(RuledDaemon.isCluster || eventually { spent() > before + 1 })
      return client
    }

    /// Whether nothing has arrived for a client.
    private static func waits(_ client: Client) -> Bool {
      var byte: UInt8 = 0
      return recv(client.descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) < 0 && errno == EAGAIN
    }

    @Test(.oneDaemon("it looks at the threads of one process"))
    func `plugins that load slowly delay neither clients nor timers, and no worker builds their VMs`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let other = try daemon.client()
      var round = 0
      // The scheduler may run the loader alone to its end, but not in each round.
      let wasFirst = try eventually {
        round += 1
        let asking = try Self.beginReload(daemon, round: round)
        #expect(try other.event("ask", "a")["decisions"]?["numbered"]?["number"] == 1)
        #expect(try daemon.client().call("health")["status"] == "ready")
        #expect(try daemon.client().failure("retry", ["parked": "nothing"])["code"] == -32002)
        let subject = JSONValue.string("b:\(round)")
        _ = try other.call("event", ["type": "set", "subject": subject])
        #expect(
          try eventually { try other.call("state", ["subject": subject])["plugins"]?["numbered"]?["isDue"] == true })
        let isFirst = Self.waits(asking)
        let answer = try JSONValue(parsing: try #require(asking.line()))
        #expect(answer["result"]?["revision"]?.stringValue != nil, "\(answer.text)")
        return isFirst
      }
      #expect(wasFirst, "all was answered before the load was over")
      // Each worker gets VMs that the loader built: building them would take as long as it took the loader.
      let before = daemon.ticks(ofThreads: "ruled-", digits: true)
      for subject in 0..<32 {
        let outcome = try other.event("ask", "s:\(subject)")
        #expect(
          (1...Self.slowPlugins).allSatisfy { outcome["decisions"]?["slow\($0)"]?["sum"] != nil }, "\(outcome.text)")
      }
      let spent = daemon.ticks(ofThreads: "ruled-", digits: true) - before
      let loading = daemon.ticks(ofThreads: "ruled-loader", digits: false)
      #expect(spent * 8 < loading, "workers spent \(spent) ticks, the loader \(loading)")
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test
    func `SIGTERM ends the daemon while plugins load, and clients that wait for the load get an error`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let asking = try Self.beginReload(daemon)
      let other = try daemon.client()
      for _ in 0..<3 { other.send(#"{"jsonrpc":"2.0","id":1,"method":"reload"}"# + "\n") }
      #expect(daemon.end(SIGTERM) == 0)
      for line in asking.remainingLines() + other.remainingLines() {
        #expect(try JSONValue(parsing: line)["error"]?["data"]?["code"] == "unavailable", "\(line)")
      }
    }

    @Test
    func `each reload request is answered by a load that saw the files as they were at the request`() throws {
      let daemon = try RuledDaemon(rules: ["slow/plugin.lua": Self.slow("slow")])
      for thread in 0..<6 { daemon.folder.replace("rules/p\(thread)/plugin.lua", with: Self.own(thread, 0)) }
      let wrong = Mutex<[String]>([])
      Threads.run(6) { thread in
        do {
          let client = try daemon.client()
          for round in 1...10 {
            daemon.folder.replace("rules/p\(thread)/plugin.lua", with: Self.own(thread, round))
            _ = try client.call("reload")
            let decided = try client.event("ask", "s:\(thread)")["decisions"]?["p\(thread)"]?["round"]
            if decided != .integer(Int64(round)) {
              wrong.withLock { $0.append("\(thread): \(round), \(decided?.text ?? "")") }
            }
          }
        } catch { wrong.withLock { $0.append("\(error)") } }
      }
      let problems = wrong.withLock { $0 }
      #expect(problems.isEmpty, "\(problems)")
    }

    private static func own(_ thread: Int, _ round: Int) -> String {
      """
      plugin { name = "p\(thread)", version = "1" }
      rule "tell" { on = "ask", run = function() decide("round", \(round)) end }
      """
    }

    // MARK: systemd

    @Test(.oneDaemon("it is about the service of one process"))
    func `systemd gets RELOADING before READY for each load, and nothing about loads after STOPPING`() throws {
      let folder = TemporaryFolder()
      let listener = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      defer { close(listener) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "\(folder.path)/notify".utf8) }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let isBound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
      }
      #expect(isBound == 0)
      setenv("NOTIFY_SOCKET", "\(folder.path)/notify", 1)
      defer { unsetenv("NOTIFY_SOCKET") }
      // The kernel keeps few messages, and the daemon drops those for which there is no room.
      let all = Mutex<[String]>([])
      var limit = timeval(tv_sec: 180, tv_usec: 0)
      setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      let listening = Threads.start(1) { _ in
        var message = [UInt8](repeating: 0, count: 4096)
        while all.withLock({ $0.last != "STOPPING" }) {
          let count = recv(listener, &message, message.count, 0)
          guard count > 0 else { return }
          let text = String(decoding: message[..<count], as: UTF8.self)
          all.withLock { $0.append(String(text.prefix { $0 != "=" })) }
        }
      }
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1), "slow/plugin.lua": Self.slow("slow")])
      let client = try daemon.client()
      _ = try client.call("reload")
      let asking = try Self.beginReload(daemon)
      #expect(daemon.end(SIGTERM) == 0)
      _ = asking
      Threads.join(listening)
      let heard = all.withLock { $0 }
      let states = heard.filter { $0 != "STATUS" && $0 != "WATCHDOG" && $0 != "EXTEND_TIMEOUT_USEC" }
      let wanted = (0..<states.count - 1).map { $0.isMultiple(of: 2) ? "READY" : "RELOADING" } + ["STOPPING"]
      #expect(states == wanted && states.count >= 5, "\(heard)")
      #expect(states.dropLast().last == "RELOADING", "\(heard)")
      #expect(heard.first == "EXTEND_TIMEOUT_USEC")
    }
  }
}
