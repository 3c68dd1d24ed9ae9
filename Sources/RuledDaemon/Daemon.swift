import Glibc
import RuledCluster
import RuledCore
import RuledEngine
import RuledIO
import RuledNodes
import RuledServing
import RuledStore

/// The daemon: opens the store and serves it until a signal ends it; a node of a cluster follows the log before, and after it gave it up.
package final class Daemon {
  /// The configuration: the start's, except for settings that were read again before the node's last change of roles.
  private(set) var configuration: Configuration
  let log: any EventLog
  let isManual: Bool
  let notifier = SystemdNotifier.fromEnvironment()
  let signals = ProcessSignals()
  let readConfiguration: ConfigurationReader

  /// A daemon that has not started.
  ///
  /// `readConfiguration` reads the configuration again for a reload.
  init(
    configuration: Configuration, manualClock: Bool, log: any EventLog,
    readConfiguration: @escaping @Sendable () throws(StartError) -> Configuration
  ) {
    self.configuration = configuration
    self.readConfiguration = readConfiguration
    self.log = log
    isManual = manualClock
  }

  /// Serves until SIGTERM or SIGINT.
  ///
  /// Returns once every received request is answered and committed.
  func run() throws(StartError) {
    do throws(StartError) { try serve() } catch {
      // The log of a node that ends again and again is on its own host alone.
      if case .postgresql(let url) = configuration.store {
        ClusterAdministration(ClusterStart(url, configuration, log: log).settings).note(
          error.description, of: configuration.cluster.node)
      }
      throw error
    }
  }

  private func serve() throws(StartError) {
    SystemCalls.ignoreBrokenPipes()
    let count = ProcessLimits.workers(configuration)
    let connections = try ProcessLimits.check(configuration) { log.warn($0) }
    let sockets = try DaemonSockets(configuration, inherited: SocketActivation.inheritedSockets())
    while try serve(on: sockets, workers: count, connections: connections) {}
  }

  /// Opens the store, serves, and closes it; gives whether the node of a cluster gave the log up and follows from then on.
  private func serve(on sockets: DaemonSockets, workers count: Int, connections: Int) throws(StartError) -> Bool {
    guard let opened = try openStore(sockets: sockets, connections: connections) else { return false }
    let server = Server(
      opened.store, clock: try makeClock(opened.store), opened.configuration, journal: opened.journal,
      member: opened.member, sockets: sockets, workers: count, connections: connections, notifier: notifier,
      signals: signals, log: log, readConfiguration: readConfiguration)
    guard let next = try server.run() else { return false }
    configuration = next
    return true
  }

  private func makeClock(_ store: any StateStore) throws(StartError) -> EngineClock {
    guard isManual else { return EngineClock() }
    do throws(StoreError) {
      return EngineClock(manual: try StoredClock.read(from: store) ?? EngineClock.wall)
    } catch {
      throw StartError(
        "where the manual clock stands can't be read from the store; restore a backup of it, or start without --clock manual: \(error)"
      )
    }
  }
}
