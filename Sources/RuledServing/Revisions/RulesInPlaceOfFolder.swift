import RuledCore
import RuledEngine
import RuledJSON
import RuledStore

/// Rules in force in place of the folder's, and why; the store keeps them, so that they stay after a restart.
struct RulesInPlaceOfFolder: Sendable {
  enum Reason: Sendable, Equatable {
    /// An earlier revision was put in force: the folder is not read.
    case pinned
    /// A rollout was promoted: the folder is read, and counts once it holds something other than this content.
    case promoted(folder: String)
  }

  let reason: Reason
  let revision: RevisionArchive.Revision

  private static let value = StoredValue(name: "held_rules")

  func put(into set: WriteSet) {
    var object: JSONObject = ["revision": RevisionDocument.json(revision)]
    if case .promoted(let folder) = reason { object["folder"] = .string(folder) }
    Self.value.put(into: set, JSONValue.object(object).write(to:))
  }

  static func read(from store: any StateStore) throws(StoreError) -> RulesInPlaceOfFolder? {
    guard let stored = try value.read(from: store) else { return nil }
    guard let json = try? JSONValue(parsing: stored.bytes, maximumDepth: RevisionDocument.depth + 2),
      let revision = json["revision"].flatMap(RevisionDocument.revision)
    else { throw StoreError(.corrupt, "the pinned rules that the store keeps have another form") }
    return RulesInPlaceOfFolder(
      reason: json["folder"]?.stringValue.map { .promoted(folder: $0) } ?? .pinned, revision: revision)
  }

  static func delete(from set: WriteSet) { value.delete(from: set) }

  static func remove(from store: any StateStore) throws(StoreError) { try value.remove(from: store) }
}

/// The last revision that loaded, in the store: a daemon that starts with rules that don't load serves it.
enum StoredRules {
  private static let value = StoredValue(name: "rules")

  static func write(_ source: RulesSource, to context: EngineContext) {
    value.write(to: context, durable: false) { source.encoded.write(to: $0) }
  }

  static func read(from store: any StateStore) throws(StoreError) -> RulesSource? {
    guard let stored = try value.read(from: store) else { return nil }
    guard let json = try? JSONValue(parsing: stored.bytes), let source = RulesSource(encoded: json) else {
      throw StoreError(.corrupt, "the rules that the store keeps have another form")
    }
    return source
  }
}
