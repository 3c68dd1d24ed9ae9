package import RuledCore
package import RuledEngine
import RuledJSON
package import RuledStore

/// The rules in force of a cluster, as its log has them: an owner serves these, whatever its folder contains.
package enum LiveRules {
  private static let content = StoredValue(name: "live_rules")
  private static let name = StoredValue(name: "live_revision")

  /// Adds rules to a commit: from that batch of the log on they are in force.
  static func put(_ revision: RevisionArchive.Revision, into set: WriteSet) {
    name.put(into: set) { $0.append(contentsOf: revision.entry.revision) }
    content.put(into: set) { RevisionDocument.json(revision).write(to: $0) }
  }

  /// The rules in force; nil before the first.
  static func read(from store: any StateStore) throws(StoreError) -> RevisionArchive.Revision? {
    guard let stored = try content.read(from: store) else { return nil }
    guard let revision = parse(stored.bytes) else {
      throw StoreError(.corrupt, "the rules in force that the log has are of another form")
    }
    return revision
  }

  /// The revision in force; empty before the first.
  package static func revision(in store: any StateStore) throws(StoreError) -> String {
    try name.read(from: store)?.text ?? ""
  }

  package static func parse(_ bytes: ByteView) -> RevisionArchive.Revision? {
    (try? JSONValue(parsing: bytes, maximumDepth: RevisionDocument.depth + 2)).flatMap(RevisionDocument.revision)
  }
}
