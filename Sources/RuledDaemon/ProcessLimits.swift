import CLinux
import Glibc
import RuledCore
import RuledEngine
import RuledIO
import RuledLua
import RuledServing
import RuledStore
import RuledThreads

/// Checks before the daemon serves that the system's limits for this process suffice.
///
/// An error names the limit to raise.
enum ProcessLimits {
  /// The size in bytes of the store's largest files: RocksDB's files are about as large as a segment of the redo log.
  private static let fileBytes = 128 << 20
  /// The bytes of stack that the deepest rules and parsers take on the thread that loads them.
  private static let stackBytes = 1 << 20
  private static let usualStackBytes = 8 << 20
  /// The number of threads beside the workers: commits, flushes, effects, HTTP, loading, RocksDB's own, name look-ups.
  private static let otherThreads = 12
  /// With room for fewer connections the daemon does not start.
  private static let fewestConnections = 16

  /// Raises the limits that may be raised and checks all of them; `warn` gets limits that hold the daemon back and still let it serve.
  ///
  /// Returns the number of connections that there is room for, at most the configured number.
  static func check(_ configuration: Configuration, warn: (String) -> Void) throws(StartError) -> Int {
    let workers = workers(configuration)
    try checkStack()
    try checkFileSize()
    try checkMemory(configuration, workers)
    try checkThreads(workers)
    return try connections(configuration, workers, warn)
  }

  static func workers(_ configuration: Configuration) -> Int {
    configuration.workers > 0 ? configuration.workers : Int(cl_processors())
  }

  /// The number of descriptors of a connection that a node carries to another one: its own, two to the tunnel, and the tunnel's.
  private static let tunnelDescriptors = 4

  private static func connections(
    _ configuration: Configuration, _ workers: Int, _ warn: (String) -> Void
  ) throws(StartError) -> Int {
    let wanted = configuration.limits.connections
    // The descriptors beside connections and the store's files, with some in reserve.
    let others = 48 + Limits.probeConnections + 4 * workers + 9 * configuration.sinks.count
    // The sites have as many connections of their own.
    let pools = configuration.http.sites == nil ? 1 : 2
    let each = pools * (configuration.cluster.tunnel == nil ? 1 : tunnelDescriptors)
    let limit = raise(RLIMIT_NOFILE, to: StoreDescriptors.most + others + wanted * each)
    let roomWithin = { limit in (limit - StoreDescriptors.count(within: limit) - others) / each }
    let room = roomWithin(limit)
    let fewest = min(wanted, fewestConnections)
    guard room >= fewest else {
      let needed = (limit...).first { roomWithin($0) >= fewest } ?? limit
      throw StartError(
        "the process may have \(limit) open files, at least \(needed) are needed: raise LimitNOFILE= of the unit, or ulimit -n",
        isLasting: true)
    }
    if room < wanted {
      warn(
        "limits.connections is \(wanted), but the \(limit) open files that the process may have leave room for \(room): "
          + "\(room) connections are taken; raise LimitNOFILE= of the unit, or ulimit -n")
    }
    return min(room, wanted)
  }

  private static func checkStack() throws(StartError) {
    let limit = raise(RLIMIT_STACK, to: usualStackBytes)
    guard limit >= stackBytes else {
      throw StartError(
        "the process may have a stack of \(limit >> 10) KiB, 1024 are needed: raise LimitSTACK= of the unit, or ulimit -s",
        isLasting: true)
    }
    // Threads of libraries would get the limit of the program's start.
    cl_default_stack(usualStackBytes)
  }

  private static func checkFileSize() throws(StartError) {
    let limit = raise(RLIMIT_FSIZE, to: fileBytes)
    guard limit >= fileBytes else {
      throw StartError(
        "files may have \(limit >> 10) KiB, the store's have up to \(fileBytes >> 20) MiB: raise LimitFSIZE= of the unit, or ulimit -f",
        isLasting: true)
    }
  }

  /// The address space that a start takes, in bytes: RocksDB, the log and the threads' heaps; for each worker its heap, and a VM for each plugin.
  private static func memory(_ configuration: Configuration, _ workers: Int) -> Int {
    let plugins = (try? RulesFolder.read(configuration.rules))?.plugins.count ?? 0
    return (configuration.limits.cacheMiB + 1_024 + workers * (96 + plugins * PluginVM.reservedMiB)) << 20
  }

  private static func checkMemory(_ configuration: Configuration, _ workers: Int) throws(StartError) {
    for (resource, name, option) in [(RLIMIT_AS, "LimitAS=", "-v"), (RLIMIT_DATA, "LimitDATA=", "-d")] {
      let limit = raise(resource, to: .max)
      guard limit < .max else { continue }
      let needed = memory(configuration, workers)
      let used = ProcessMemory.read()
      let remaining = limit - (resource == RLIMIT_DATA ? used.data : used.virtual)
      guard remaining >= needed else {
        throw StartError(
          "\(remaining >> 20) MiB of the memory that the process may have are left, with this configuration about \(needed >> 20) are "
            + "needed: raise \(name) of the unit, or ulimit \(option), or lower workers or limits.cache_mib",
          isLasting: true)
      }
    }
  }

  /// Starts as many threads as will be needed, and ends them again.
  ///
  /// Otherwise a library could abort the process later when it can't start one.
  private static func checkThreads(_ workers: Int) throws(StartError) {
    let needed = workers + otherThreads
    let gate = Condition()
    nonisolated(unsafe) var isOver = false  // guarded by `gate`
    var threads: [Thread] = []
    defer {
      gate.signal { isOver = true }
      for thread in threads { thread.join() }
    }
    for _ in 0..<needed {
      do throws(SystemError) {
        threads.append(try Thread.start(name: "ruled-probe", stackBytes: 64 << 10) { gate.wait { isOver ? () : nil } })
      } catch {
        throw StartError(
          "the process can start \(threads.count) more threads, \(needed) are needed: raise TasksMax= and LimitNPROC= of the unit, "
            + "or ulimit -u; with a limit on memory, raise ulimit -v (\(SystemError.text(of: error.number)))")
      }
    }
  }

  /// Raises a limit to `wanted`, or as far as is allowed.
  ///
  /// Returns the resulting limit.
  private static func raise(_ resource: __rlimit_resource, to wanted: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return .max }
    let most = min(limit.rlim_max, rlim_t(wanted))
    if limit.rlim_cur < most {
      var raised = limit
      raised.rlim_cur = wanted == .max ? limit.rlim_max : most
      if setrlimit(__rlimit_resource_t(resource.rawValue), &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
