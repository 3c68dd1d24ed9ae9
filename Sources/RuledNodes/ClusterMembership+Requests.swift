import RuledCluster
import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledThreads
import RuledWire

extension ClusterMembership {
  func answer(_ params: ClusterParams, then: @escaping @Sendable (Result<JSONValue, RequestError>) -> Void) {
    guard requests.wrappingAdd(1, ordering: .relaxed).newValue <= Self.mostRequests else {
      requests.wrappingSubtract(1, ordering: .relaxed)
      return then(
        .failure(RequestError(.overloaded, "the database is being asked by others; try again", retryAfter: 500)))
    }
    ask({ [self] in execute(params) }) { [self] result in
      requests.wrappingSubtract(1, ordering: .relaxed)
      then(result)
    }
  }

  /// Executes `body` on a thread of its own, since the database may take seconds, and calls `then` there with the result.
  private func ask(
    _ body: @escaping @Sendable () -> Result<JSONValue, RequestError>,
    then: @escaping @Sendable (Result<JSONValue, RequestError>) -> Void
  ) {
    do throws(ThreadError) { _ = try Thread(name: "ruled-cluster") { then(body()) } } catch {
      then(.failure(RequestError(.unavailable, "the database can't be asked: error \(error.number)")))
    }
  }

  private static let mostRequests = 4

  private func execute(_ params: ClusterParams) -> Result<JSONValue, RequestError> {
    let administration = ClusterAdministration(settings)
    do throws(StoreError) {
      switch params {
      case .show: return .success(json(try administration.overview()))
      case .undrain(let name):
        guard let overview = try administration.undrain(name) else { return .failure(Self.unknown(name)) }
        log.info("node \(name) may own the log of commits again")
        return .success(json(overview))
      case .drain(let name, let force):
        switch try administration.drain(name, force: force) {
        case .success(let overview):
          log.info("node \(name) is drained: it does not own the log of commits until 'rulectl cluster undrain'")
          return .success(json(overview))
        case .failure(.unknown): return .failure(Self.unknown(name))
        case .failure(.alone(let reason)):
          return .failure(
            RequestError(
              .unavailable, "nobody could take over after \(name): \(reason); wait for that, or use --force",
              details: [.init("reason", .string(reason))]))
        }
      }
    } catch { return .failure(RequestError(.unavailable, "the database of the cluster can't be asked: \(error)")) }
  }

  private static func unknown(_ name: String) -> RequestError {
    RequestError(.notFound, "the cluster has no node \(name); 'rulectl cluster' lists them")
  }

  private func json(_ cluster: ClusterOverview) -> JSONValue {
    .object([
      "node": .string(node.identity.name),
      "owner": cluster.owner.map { .string($0.identity.name) } ?? .null,
      "nodes": .array(cluster.nodes.map { Self.json($0) }),
      "log": .object([
        "epoch": .integer(cluster.epoch), "sequence": .integer(cluster.sequence),
        "bytes": .integer(cluster.database.bytes),
      ]),
      "database": Self.json(cluster.database),
    ])
  }

  private static func json(_ database: ClusterOverview.Database) -> JSONValue {
    .object([
      "primary": .string(database.primary), "version": .string(database.version), "bytes": .integer(database.bytes),
      "standbys": .array(
        database.standbys.map {
          .object([
            "name": .string($0.name), "address": .string($0.address), "state": .string($0.state),
            "sync": .string($0.sync),
          ])
        }),
      "synchronous_commit": .string(database.synchronousCommit),
      "synchronous_standby_names": .string(database.synchronousStandbys),
      "promise": .string(database.promise),
      "problem": database.problem.map { .string($0) } ?? .null,
    ])
  }

  private static func json(_ node: ClusterOverview.Node) -> JSONValue {
    .object([
      "name": .string(node.identity.name), "address": .string(node.identity.address),
      "role": .string(node.role.rawValue), "drained": .bool(node.isDrained), "lease_left_ms": .integer(node.leaseLeft),
      "sequence": .integer(node.sequence), "behind": .integer(node.behind), "version": .string(node.version),
      "process": .string(node.identity.incarnation), "problem": node.problem.isEmpty ? .null : .string(node.problem),
    ])
  }
}
