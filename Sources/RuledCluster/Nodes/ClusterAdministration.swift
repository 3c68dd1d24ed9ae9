package import RuledCore
package import RuledStore

/// Shows a cluster and drains its nodes; each call opens a connection and waits for the database.
package struct ClusterAdministration: Sendable {
  /// The most batches that a node may lack before a planned take-over: it plays them back within a fraction of a second.
  static let mostBehind: Int64 = 1_000

  private let settings: ClusterSettings

  package init(_ settings: ClusterSettings) {
    var settings = settings
    settings.commitTimeout = min(settings.commitTimeout, 5_000)
    self.settings = settings
  }

  package func overview() throws(StoreError) -> ClusterOverview { try LogClient(settings).overview() }

  /// Makes a node give the log up and not own it again until `undrain`; refuses if no other node could take over, unless `force` is set.
  package func drain(_ node: String, force: Bool) throws(StoreError) -> Result<ClusterOverview, RequestError> {
    let client = LogClient(settings)
    let before = try client.overview()
    guard let target = before.nodes.first(where: { $0.identity.name == node }) else { return Self.unknown(node) }
    if !force, let reason = Self.obstacle(to: target, in: before) {
      return .failure(
        RequestError(
          .unavailable, "nobody could take over after \(node): \(reason); wait for that, or use --force",
          details: ["reason": .string(reason)]))
    }
    try client.mark(node, drained: true)
    return .success(try client.overview())
  }

  /// Lets a node own the log again.
  package func undrain(_ node: String) throws(StoreError) -> Result<ClusterOverview, RequestError> {
    let client = LogClient(settings)
    return try client.mark(node, drained: false) ? .success(try client.overview()) : Self.unknown(node)
  }

  private static func unknown(_ node: String) -> Result<ClusterOverview, RequestError> {
    .failure(RequestError(.notFound, "the cluster has no node \(node); 'rulectl cluster' lists them"))
  }

  /// Stores why the process of a node can't go on, so that the other nodes show it; does nothing if it can't be stored.
  package func note(_ problem: String, of node: String) { try? LogClient(settings).note(problem, of: node) }

  /// Why no node could take over from `target`; nil if one can.
  private static func obstacle(to target: ClusterOverview.Node, in cluster: ClusterOverview) -> String? {
    let others = cluster.nodes.filter { $0.identity.name != target.identity.name && $0.role != .gone }
    if others.isEmpty { return "no other node is there" }
    let able = others.filter { !$0.isDrained }
    if able.isEmpty { return "all other nodes are drained" }
    guard let nearest = able.map({ $0.role == .owner ? 0 : $0.behind }).min(), nearest > mostBehind else { return nil }
    return "the other nodes are \(nearest) batches and more behind"
  }
}
