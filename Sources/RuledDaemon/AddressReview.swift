import Glibc
import RuledCluster
import RuledCore
import RuledIO
import RuledLua
import RuledNodes
import RuledServing
import RuledStore

/// Finds problems of a start with the network: addresses where it could not listen, sockets of systemd that it would not use, certificates
/// that a node could not show, a database that it could not speak to.
struct AddressReview {
  /// The problems, in the order of the configuration's keys.
  private(set) var problems: [ConfigurationProblem] = []

  /// Tries to listen at each address and closes it again; `inherited` are the sockets from systemd.
  ///
  /// The running daemon may hold an address. Under `delivery = "courier"` a process must hold it: the daemon takes the socket over from systemd.
  init(_ configuration: Configuration, inherited: SocketActivation.Sockets) {
    if let problem = DaemonSockets.unused(of: inherited, configuration) {
      problems.append(ConfigurationProblem(path: ["http"], message: problem))
    }
    if inherited.unix.isEmpty {
      do throws(ListenError) { try ListeningSocket.address(configuration.socket) } catch {
        problems.append(ConfigurationProblem(path: ["socket"], message: "socket: \(error)"))
      }
      let program = Self.inode(of: configuration.socket).flatMap { Self.otherProgram(holding: [$0]) }
      let stranger =
        program.map { "another program, \($0)" }
        ?? (Self.hasOtherStore(configuration) ? "a ruled with another store" : nil)
      if let stranger {
        let remedy = "in use by \(stranger); end it, or name another path"
        problems.append(
          ConfigurationProblem(path: ["socket"], message: "socket: \(configuration.socket) is \(remedy)"))
      }
    }
    if case .postgresql = configuration.store, let problem = PostgresLibrary.problem {
      problems.append(ConfigurationProblem(path: ["store"], message: "store: \(problem)"))
    }
    if let tunnel = configuration.cluster.tunnel {
      problems += NodeLinks.problems(configuration.cluster.node, tunnel) {
        Self.isDaemons(port: $0, socket: configuration.socket)
      }
    }
    for (key, address) in [("listen", configuration.http.listen), ("sites", configuration.http.sites)] {
      guard let address, !inherited.tcp.contains(where: { LoopbackSocket.isBound($0.descriptor, to: address) }) else {
        continue
      }
      guard configuration.delivery == .daemon else {
        if Self.listeners(at: address.port).isEmpty { add(key, DaemonSockets.needsUnit(key)) }
        continue
      }
      do throws(SystemError) {
        SystemCalls.close(try LoopbackSocket.listen(address))
      } catch {
        guard error.number == EADDRINUSE else {
          add(key, "\(address.text) can't be listened on: \(SystemError.text(of: error.number))")
          continue
        }
        if Self.isDaemons(port: address.port, socket: configuration.socket) { continue }
        add(key, "\(address.text) is in use by another process; end it, or name another port")
      }
    }
    if let listen = configuration.http.listen, listen == configuration.http.sites {
      add("sites", "\(listen.text) is the address of http.listen, too; name another port")
    }
  }

  private mutating func add(_ key: String, _ message: String) {
    problems.append(ConfigurationProblem(path: ["http", key], message: "http.\(key): \(message)"))
  }

  // MARK: Who holds an address

  /// Whether a daemon serves the configured Unix socket, and its user, or the user that handed that socket over, holds the port for no other program.
  private static func isDaemons(port: UInt16, socket: String) -> Bool {
    var status = stat()
    guard stat(socket, &status) == 0, inode(of: socket) != nil else { return false }
    let listeners = listeners(at: port)
    return !listeners.isEmpty && listeners.allSatisfy { [status.st_uid, geteuid()].contains($0.user) }
      && otherProgram(holding: listeners.map(\.inode)) == nil
  }

  /// Whether a daemon serves the configured Unix socket, and does not have the configured store on disk open, as far as this user may see.
  private static func hasOtherStore(_ configuration: Configuration) -> Bool {
    guard case .rocksdb(let path) = configuration.store, let inode = inode(of: configuration.socket) else {
      return false
    }
    let daemons = processes { isSocket($0) && UInt64($0.st_ino) == inode }
    var lock = stat()
    let isLocked = stat(StoreReview.lock(of: path), &lock) == 0
    let keepers = isLocked ? processes { $0.st_dev == lock.st_dev && $0.st_ino == lock.st_ino } : []
    return !daemons.isEmpty && !daemons.contains("1") && !daemons.contains(where: keepers.contains)
  }

  private static func isSocket(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFSOCK }

  /// The numbers of the processes that have a file open, as far as this user may see.
  private static func processes(withOpen isSought: (stat) -> Bool) -> [String] {
    ((try? Folder.names("/proc")) ?? []).filter { process in
      guard UInt32(process) != nil, let files = try? Folder.names("/proc/\(process)/fd") else { return false }
      return files.contains { file in
        var status = stat()
        return stat("/proc/\(process)/fd/\(file)", &status) == 0 && isSought(status)
      }
    }
  }

  /// The name of a program that holds one of these sockets, if neither a daemon nor systemd does, as far as this user may see.
  private static func otherProgram(holding inodes: [UInt64]) -> String? {
    func name(_ process: String) -> String { lines(of: "/proc/\(process)/comm").first.map(String.init) ?? "" }
    let holders = processes { isSocket($0) && inodes.contains(UInt64($0.st_ino)) }
    return holders.contains { $0 == "1" || name($0) == name("self") } ? nil : holders.first.map(name)
  }

  /// The number of the socket that a process listens on at a path; does not connect to it, because that would start a service of systemd.
  private static func inode(of socket: String) -> UInt64? {
    let path = socket.realPath
    let listens = "00010000"  // __SO_ACCEPTCON in the column Flags
    return lines(of: "/proc/net/unix").lazy.compactMap { line in
      let columns = line.split(separator: " ", maxSplits: 7)
      guard columns.count == 8, columns[3] == listens, columns[7] == socket || columns[7] == path ?? socket else {
        return nil
      }
      return UInt64(columns[6])
    }.first
  }

  /// The sockets that processes listen on at a port: the user and the number of each.
  private static func listeners(at port: UInt16) -> [(user: UInt32, inode: UInt64)] {
    let end = ":" + port.digits(4, radix: 16, uppercase: true)
    let listens = "0A"  // TCP_LISTEN in the column st
    return (lines(of: "/proc/net/tcp") + lines(of: "/proc/net/tcp6")).compactMap { line in
      let columns = line.split(separator: " ")
      guard columns.count > 9, columns[1].hasSuffix(end), columns[3] == listens, let user = UInt32(columns[7]),
        let inode = UInt64(columns[9])
      else { return nil }
      return (user, inode)
    }
  }

  private static func lines(of path: String) -> [Substring] {
    ((try? RegularFile.read(path, limit: 64 << 20)) ?? []).text.split(separator: "\n")
  }
}
