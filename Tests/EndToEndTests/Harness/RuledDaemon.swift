import Glibc
import RuledCore
import Synchronization
import TestSupport

/// The real `ruled` on its own folder, with rules given as text.
final class RuledDaemon: @unchecked Sendable {  // one thread starts and stops it
  /// Holds rules, store, socket and log.
  let folder = TemporaryFolder()
  /// The process, 0 while there is none.
  private(set) var process: pid_t = 0
  private var options: [String]
  /// Whether the clock of its next start moves only when a test says so.
  var hasManualClock: Bool
  /// Commands that a shell runs before it becomes the daemon, such as setting limits.
  private let preparation: String?

  /// The folder with the programs under test: that of the built tests, or `RULED_PROGRAMS`.
  static let programs: String = {
    if let folder = getenv("RULED_PROGRAMS") { return String(cString: folder) }
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count - 1)
    let whole = String(decoding: path[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(whole[..<(whole.lastIndex(of: "/") ?? whole.startIndex)])
  }()

  /// Whether three nodes of a cluster take the place of the daemon, as `RULED_NODES` asks, and its socket is that of one that follows.
  static let isCluster = getenv("RULED_NODES") != nil

  /// What is started: the daemon, or scripts/three-nodes.
  private static let program: String = {
    guard isCluster else { return "\(programs)/ruled" }
    setenv("RULED_PROGRAMS", programs, 1)
    return #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 } + "/scripts/three-nodes"
  }()

  /// Writes the rules, by path under `rules/`, and starts the daemon, in a shell that first runs `preparation` if given.
  init(
    rules: [String: String], manualClock: Bool = false, configuration: String? = nil, store: String? = nil,
    preparation: String? = nil
  ) throws {
    self.preparation = preparation
    hasManualClock = manualClock
    options = ["--rules", "\(folder.path)/rules", "--socket", "\(folder.path)/s"]
    options += ["--store", store ?? "rocksdb:\(folder.path)/store"]
    if let configuration {
      folder.replace("ruled.conf.lua", with: configuration)
      options += ["--config", "\(folder.path)/ruled.conf.lua"]
    }
    mkdir("\(folder.path)/rules", 0o755)
    for (name, text) in rules { folder.replace("rules/\(name)", with: text) }
    try start()
  }

  deinit {
    var status: Int32 = 0
    if process > 0, waitpid(process, &status, WNOHANG) == process {
      print("ruled ended by itself with \(Program.exitCode(status)):\n\(log.suffix(4000))")
    } else if process > 0 {
      end(SIGKILL)
    }
  }

  private var arguments: [String] { options + (hasManualClock ? ["--clock", "manual"] : []) }

  /// The path of its socket.
  var socket: String { "\(folder.path)/s" }

  /// The folder of its store; in a cluster that of the node which owns the log.
  var store: String { Self.isCluster ? "\(folder.path)/store/a/store" : "\(folder.path)/store" }

  var log: String { folder.read("log") }

  /// Starts it again on the same store and waits until it answers.
  func start() throws {
    let program = Self.program
    process =
      preparation.map {
        Program.spawn("bash", ["-c", "\($0); exec \"$0\" \"$@\"", program] + arguments, output: "\(folder.path)/log")
      } ?? Program.spawn(program, arguments, output: "\(folder.path)/log")
    let isServing = try eventually {
      var status: Int32 = 0
      guard waitpid(process, &status, WNOHANG) == 0 else {
        process = 0
        throw Client.Gone(description: "ruled ended with \(Program.exitCode(status)): \(log)")
      }
      return (try? Client(socket))?.isServed == true
    }
    if !isServing { throw Client.Gone(description: "ruled does not answer: \(log)") }
  }

  /// Sends a signal, waits for the end and returns the exit code, or minus the signal if that killed it.
  @discardableResult
  func end(_ signal: Int32) -> Int32 {
    kill(process, signal)
    return wait()
  }

  /// Sends a signal without waiting.
  func signal(_ signal: Int32) { kill(process, signal) }

  /// Waits for the end and returns the exit code.
  func wait() -> Int32 {
    defer { process = 0 }
    return Program.wait(process)
  }

  func client() throws -> Client { try Client(socket) }

  /// Runs a second daemon with other values for some options; returns its exit code and output.
  func rival(
    socket: String? = nil, store: String? = nil, ofSystemd: Bool = false
  ) -> (code: Int32, output: String) {
    var words = arguments
    if let socket { words += ["--socket", socket] }
    if let store { words += ["--store", store] }
    let service = ofSystemd ? ["NOTIFY_SOCKET=\(folder("notify"))"] : []
    return Program.run("/usr/bin/env", service + ["\(Self.programs)/ruled"] + words)
  }

  /// Memory in use, in KiB.
  var residentKiB: Int {
    for line in TemporaryFolder.read("/proc/\(process)/status").split(separator: "\n") where line.hasPrefix("VmRSS:") {
      return Int(line.split(separator: " ").dropLast().last ?? "") ?? 0
    }
    return 0
  }

  private var threads: [String] { TemporaryFolder.names("/proc/\(process)/task") }

  /// Gives a thread that runs on idle processors alone a share of busy ones; without root it does nothing.
  func hurry(_ name: String) {
    for thread in threads where TemporaryFolder.read("/proc/\(process)/task/\(thread)/comm").hasPrefix(name) {
      var none = sched_param()
      sched_setscheduler(pid_t(thread) ?? 0, SCHED_OTHER, &none)
      setpriority(Int32(PRIO_PROCESS.rawValue), id_t(thread) ?? 0, 0)
    }
  }

  /// Runs `body` while threads of that name, which the daemon begins meanwhile and which run after all others, get a share of busy processors.
  func hurrying<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
    let isOver = Mutex(false)
    let thread = Threads.start(1) { _ in
      while isOver.withLock({ !$0 }) {
        self.hurry(name)
        usleep(20_000)
      }
    }
    defer {
      isOver.withLock { $0 = true }
      Threads.join(thread)
    }
    return try body()
  }

  /// Processor time, in kernel ticks, of the threads whose names begin with `name`; with `digits`, only of those that end with a number.
  func ticks(ofThreads name: String, digits: Bool) -> Int {
    threads.reduce(0) { sum, task in
      let text = TemporaryFolder.read("/proc/\(process)/task/\(task)/stat")
      guard let open = text.firstIndex(of: "("), let end = text.lastIndex(of: ")") else { return sum }
      let thread = text[text.index(after: open)..<end]
      guard thread.hasPrefix(name), !digits || thread.last?.isNumber == true else { return sum }
      let fields = text[end...].split(separator: " ")
      return sum + (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0)
    }
  }

  /// How many files are open.
  var openFiles: Int { TemporaryFolder.names("/proc/\(process)/fd").count }
}
