package import RuledEngine
package import RuledStore

/// The agreement of a cluster's nodes on rules: all of them can load the rules that come into force, and the log names these.
package protocol ClusterRules: AnyObject, Sendable {
  /// The archive of this node, which takes the revisions of other owners.
  var revisions: RevisionArchive { get }

  /// Lets the other nodes take a revision that the archive has.
  func share(_ revision: String) throws(StoreError)

  /// Takes what other nodes have shared into the archive.
  func takeShared() throws(StoreError)

  /// Waits until all other live nodes have loaded the rules; throws an error that names the node which can't, and why.
  ///
  /// `isWaiting` is called at each check, and ends the wait if it returns false.
  func agree(on catalog: Catalog, while isWaiting: () -> Bool) throws(ReloadError)

  /// The rules in the folder of another node, which offers them when it is asked; `isWaiting` as with `agree`.
  func folder(of name: String, while isWaiting: () -> Bool) throws(ReloadError) -> RevisionArchive.Revision

  /// Adds rules to a commit: from it on they are in force.
  func putLive(_ revision: RevisionArchive.Revision, into set: WriteSet)

  /// The rules in force that a node's store has; nil before the first.
  func live(in store: any StateStore) throws(StoreError) -> RevisionArchive.Revision?

  func liveRevision(in store: any StateStore) throws(StoreError) -> String
}
