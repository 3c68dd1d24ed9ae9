package import RuledCore
package import RuledEngine
package import RuledIO
package import RuledStore
package import RuledWire

/// A daemon's part in a cluster, as its threads see it: whether this node may answer reads, whether it still owns the log, the clients that
/// other nodes carry here, and the node's report on itself.
package protocol ClusterMember: AnyObject, Sendable {
  var name: String { get }
  var rules: any ClusterRules { get }

  /// Throws unless the node has its lease: without it another node may own the log of commits, and a read here may miss some.
  func checkRead() throws(RequestError)

  var leaseProblem: String? { get }
  var snapshotProblem: String? { get }

  /// The metrics of the node in Prometheus's text format.
  var metrics: [UInt8] { get }

  func reloadIdentity()

  /// Executes a request about the cluster, and calls `then` on another thread with the result.
  func answer(_ params: ClusterParams, then: @escaping @Sendable (Result<JSONValue, RequestError>) -> Void)

  /// Why the node lost the log; nil while it has not.
  var lossError: StoreError? { get }

  /// Whether the node was drained, so that it has to give the log up.
  var isDrained: Bool { get }

  /// Calls `handler` when the node has to stop serving as the owner, at once if that is the case already; at most twice.
  func whenOwnershipEnds(_ handler: @escaping @Sendable () -> Void)

  /// Passes the sockets of other nodes' clients to `receiver` from now on, which returns false if it did not take the socket over.
  func receiveClients(_ receiver: @escaping @Sendable (Int32, ClientAccess) -> Bool)

  /// Takes no further clients of other nodes; served ones stay.
  func refuseClients()

  /// Waits until the replies to other nodes' clients have arrived there, at most a second.
  func awaitClients()

  /// Ends the node's threads and releases its lease, so that another node can take over at once.
  func end()
}

/// The agreement of a cluster's nodes on rules: all of them can load the rules that come into force, and the log names these.
package protocol ClusterRules: AnyObject, Sendable {
  /// The archive of this node, which takes the revisions of other owners.
  var revisions: RevisionArchive { get }

  /// Lets the other nodes take a revision that the archive has.
  func distribute(_ revision: String) throws(StoreError)

  /// Takes what other nodes have distributed into the archive.
  func takeDistributed() throws(StoreError)

  /// Waits until all other live nodes have loaded the rules; throws an error that names the node which can't, and why.
  ///
  /// `isWaiting` is called at each check, and ends the wait if it returns false.
  func agree(on catalog: Catalog, while isWaiting: () -> Bool) throws(ReloadError)

  /// The rules in the folder of another node, which offers them when it is asked; `isWaiting` as with `agree`.
  func folder(of name: String, while isWaiting: () -> Bool) throws(ReloadError) -> RevisionArchive.Revision
}
