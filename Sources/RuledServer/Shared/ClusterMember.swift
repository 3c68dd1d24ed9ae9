import RuledCore
import RuledWire

/// A daemon's part in a cluster, as its threads see it: whether this node may answer reads, and what it says of itself.
protocol ClusterMember: AnyObject, Sendable {
  /// The name of the node.
  var name: String { get }

  /// Throws unless the node has its lease: without it another node may own the log of commits, and a read here may miss some.
  func checkRead() throws(RequestError)

  /// What is wrong with the node's lease; nil if nothing is.
  var leaseProblem: String? { get }

  /// What is wrong with the cluster's snapshots; nil if nothing is.
  var snapshotProblem: String? { get }

  /// The metrics of the node in Prometheus's text format.
  var metrics: [UInt8] { get }

  /// Reads the node's certificate again.
  func reloadIdentity()

  /// Executes a request about the cluster, and calls `then` on another thread with the result.
  func answer(_ params: ClusterParams, then: @escaping @Sendable (Result<JSONValue, RequestError>) -> Void)
}
