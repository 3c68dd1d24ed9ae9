package import Glibc

/// A real PostgreSQL server in a folder of its own, on a Unix socket; the test that made it ends it.
///
/// As root the server runs as the user `postgres`, since it refuses to run as root.
package final class PostgresServer: Sendable {
  /// Where the server's socket is.
  package let folder: TemporaryFolder
  private static let programs = "/usr/lib/postgresql/15/bin"

  /// Whether the server and its client library are on this host: Debian's packages postgresql-15 and libpq5.
  package static let isInstalled: Bool = {
    let isThere = access("\(programs)/initdb", X_OK) == 0 && dlopen("libpq.so.5", RTLD_NOW) != nil
    if !isThere { print("postgresql-15 or libpq5 is not installed: tests of clusters are left out") }
    return isThere
  }()

  /// Starts a server with these settings.
  package init(_ settings: [String: String] = [:]) {
    folder = TemporaryFolder()
    Self.run("chown", ["postgres", folder.path])
    run("initdb", ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "--no-locale"])
    let all = ["listen_addresses": "''", "unix_socket_directories": "'\(folder.path)'", "max_connections": "40"]
      .merging(settings) { $1 }
    let text = all.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
    let file = fopen("\(data)/postgresql.auto.conf", "a")
    fputs(text, file)
    fclose(file)
    start()
  }

  deinit { stop(mode: "immediate") }

  /// Stops the server and removes its folder, for a server that is never released.
  package func remove() {
    stop(mode: "immediate")
    TemporaryFolder.remove(folder.path)
  }

  private var data: String { folder("data") }

  /// The URL of a database, through the socket in another folder if one is given.
  package func url(_ database: String = "postgres", socket: String? = nil) -> String {
    "postgresql:///\(database)?host=\(socket ?? folder.path)&user=postgres"
  }

  package func start() { run("pg_ctl", ["-D", data, "-l", folder("log"), "-w", "-t", "180", "start"]) }

  /// Stops the server, in the mode `fast` or `immediate`.
  package func stop(mode: String) { _ = Self.attempt("pg_ctl", ["-D", data, "-m", mode, "-w", "-t", "180", "stop"]) }

  /// The processes of the server, the first one is the postmaster.
  package var processes: [pid_t] {
    guard let line = folder.read("data/postmaster.pid").split(separator: "\n").first, let first = pid_t(line) else {
      return []
    }
    let children = TemporaryFolder.names("/proc").compactMap { pid_t($0) }.filter { process in
      let text = TemporaryFolder.read("/proc/\(process)/stat")
      guard let end = text.lastIndex(of: ")") else { return false }
      return text[end...].split(separator: " ").dropFirst(2).first.map { pid_t($0) } == first
    }
    return [first] + children
  }

  /// Sends a signal to all processes of the server.
  package func signal(_ signal: Int32) { for process in processes { kill(process, signal) } }

  /// Kills all processes of the server at once, as a power cut does but for the disk, and waits for their end.
  package func kill9() {
    if let first = processes.first { kill(first, SIGSTOP) }  // so that it starts no further process
    let all = processes
    for process in all { kill(process, SIGKILL) }
    let haveEnded = eventually {
      all.allSatisfy { kill($0, 0) != 0 || TemporaryFolder.read("/proc/\($0)/stat").contains(") Z ") }
    }
    precondition(haveEnded, "processes of PostgreSQL do not end after SIGKILL")
    // The process may stay as a zombie, which the next server would take for a live one.
    for lock in ["data/postmaster.pid", ".s.PGSQL.5432.lock"] { unlink(folder(lock)) }
  }

  private func run(_ program: String, _ arguments: [String]) {
    let result = Self.attempt(program, arguments)
    precondition(
      result.code == 0, "\(program) ends with \(result.code): \(result.output) \(folder.read("log").suffix(2000))")
  }

  private static func attempt(_ program: String, _ arguments: [String]) -> (code: Int32, output: String) {
    let path = "\(programs)/\(program)"
    return geteuid() == 0
      ? Program.run("runuser", ["-u", "postgres", "--", path] + arguments) : Program.run(path, arguments)
  }

  private static func run(_ program: String, _ arguments: [String]) {
    guard geteuid() == 0 else { return }
    let result = Program.run(program, arguments)
    precondition(result.code == 0, "\(program): \(result.output)")
  }
}
