import Glibc
import RuledCore
import TestSupport

/// The real `ruled` on its own folder, with rules given as text.
final class RuledDaemon: @unchecked Sendable {  // one thread starts and stops it
  /// Holds rules, store, socket and log.
  let folder = TemporaryFolder()
  /// The process, 0 while there is none.
  private(set) var process: pid_t = 0
  private var arguments: [String]
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

  /// Writes the rules, by path under `rules/`, and starts the daemon, in a shell that first runs `preparation` if given.
  init(
    rules: [String: String], manualClock: Bool = false, configuration: String? = nil, store: String? = nil,
    preparation: String? = nil
  ) throws {
    self.preparation = preparation
    arguments = ["--rules", "\(folder.path)/rules", "--socket", "\(folder.path)/s"]
    arguments += ["--store", store ?? "rocksdb:\(folder.path)/store"]
    if manualClock { arguments += ["--clock", "manual"] }
    if let configuration {
      folder.replace("ruled.conf.lua", with: configuration)
      arguments += ["--config", "\(folder.path)/ruled.conf.lua"]
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

  /// The path of its socket.
  var socket: String { "\(folder.path)/s" }

  /// Its log so far.
  var log: String { folder.read("log") }

  /// Starts it again on the same store and waits until it answers.
  func start() throws {
    let program = "\(Self.programs)/ruled"
    process =
      preparation.map {
        Program.spawn("bash", ["-c", "\($0); exec \"$0\" \"$@\"", program] + arguments, output: "\(folder.path)/log")
      } ?? Program.spawn(program, arguments, output: "\(folder.path)/log")
    for _ in 0..<6000 {
      if let client = try? Client(socket), let reply = try? client.reply("health"), reply["result"] != nil { return }
      var status: Int32 = 0
      guard waitpid(process, &status, WNOHANG) == 0 else {
        process = 0
        throw Client.Gone(description: "ruled ended with \(Program.exitCode(status)): \(log)")
      }
      usleep(10_000)
    }
    throw Client.Gone(description: "ruled does not answer: \(log)")
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

  /// A new connection.
  func client() throws -> Client { try Client(socket) }

  /// Runs a second daemon with other values for some options; returns its exit code and output.
  func rival(socket: String? = nil, store: String? = nil) -> (code: Int32, output: String) {
    var words = arguments
    if let socket { words += ["--socket", socket] }
    if let store { words += ["--store", store] }
    return Program.run("\(Self.programs)/ruled", words)
  }

  /// Memory in use, in KiB.
  var residentKiB: Int {
    for line in TemporaryFolder.read("/proc/\(process)/status").split(separator: "\n") where line.hasPrefix("VmRSS:") {
      return Int(line.split(separator: " ").dropLast().last ?? "") ?? 0
    }
    return 0
  }

  /// Processor time, in kernel ticks, of the threads whose names begin with `name`; with `digits`, only of those that end with a number.
  func ticks(ofThreads name: String, digits: Bool) -> Int {
    TemporaryFolder.names("/proc/\(process)/task").reduce(0) { sum, task in
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

/// Running programs.
enum Program {
  /// Starts a program whose output goes to the end of a file.
  ///
  /// No signal is blocked in it, although the threads that run tests block all.
  static func spawn(_ path: String, _ arguments: [String], output: String) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let status = posix_spawnp(&process, path, &actions, &attributes, &words, environ)
    precondition(status == 0, "\(path) can't be started: \(status)")
    return process
  }

  /// Runs a program to its end; returns its exit code and its output.
  static func run(_ path: String, _ arguments: [String]) -> (code: Int32, output: String) {
    let folder = TemporaryFolder()
    let process = spawn(path, arguments, output: "\(folder.path)/out")
    return (wait(process), folder.read("out"))
  }

  /// Waits for a process to end and returns its exit code; kills it after a minute.
  static func wait(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    for _ in 0..<12_000 {
      if waitpid(process, &status, WNOHANG) == process { return exitCode(status) }
      usleep(5000)
    }
    kill(process, SIGKILL)
    waitpid(process, &status, 0)
    return exitCode(status)
  }

  /// The exit code in a status of `waitpid`, or minus the signal that killed the process.
  static func exitCode(_ status: Int32) -> Int32 {
    status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }
}
