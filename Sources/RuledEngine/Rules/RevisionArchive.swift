package import RuledCore
import RuledLua
package import RuledStore
import Synchronization

/// The sources and the configuration of every revision of the rules, so that each can be shown, compared, and put in force again.
///
/// Each is a file of the store's folder `revisions`, named after the revision. Its first line describes it, the second holds its content, and the
/// third is the digest of both. A damaged or missing file is an error only for users of its revision.
package final class RevisionArchive: Sendable {
  /// Where the sources of a revision came from.
  package enum Origin: String, Sendable {
    case folder
    /// The last good rules, which were in the store: the daemon was updated from a version without an archive.
    case stored
    /// They were tried on some subjects, and were never in force for all.
    case rollout
    case promoted
  }

  /// A revision, without its content.
  package struct Entry: Sendable, Equatable {
    package let revision: String
    /// When it was loaded last.
    package let loadedAt: Timestamp
    package let origin: Origin
    /// The plugins that differ from the revision that was in force before, in order of name.
    package let changed: [String]
    /// The order in which revisions were loaded: the higher, the later; 0 outside of an archive.
    var number: Int64
    /// When it was in force last; nil while it is.
    var usedUntil: Timestamp?
  }

  /// A revision with its content.
  package struct Revision: Sendable {
    package let entry: Entry
    package let rules: RulesSource
    package let configuration: [String: Configuration.Plugin]
  }

  /// The name of its folder in the store's.
  package static let folder = "revisions"

  /// How many of the latest revisions are kept, whether somebody needs them or not.
  static let keptCount = 100

  private struct State {
    /// The revisions in the order in which they were loaded.
    var entries: [Entry] = []
    /// The content, where there is no folder.
    var memory: [String: Revision] = [:]
    /// The problems with files that are none of a known revision, one sentence each.
    var problems: [String] = []
    /// The damage of revisions, one sentence each.
    var damages: [String: String] = [:]
  }

  private let folder: String?
  private let files: any FileSystem
  private let state = Mutex(State())

  /// The archive in a folder, which is made where it does not exist yet; in memory without one.
  ///
  /// Revisions that can't be read are among the `problems`. One `toRead` changes nothing in the folder, where a daemon may write.
  package init(folder: String?, toRead: Bool = false, files: any FileSystem = SystemFiles()) {
    self.folder = folder
    self.files = files
    guard let folder else { return }
    state.withLock { state in
      do throws(StoreError) {
        if !toRead { try files.createFolder(folder) }
        for name in try files.names(in: folder) {
          do throws(StoreError) {
            if RevisionFile.isUnfinished(name) {
              if !toRead { try files.remove("\(folder)/\(name)") }
            } else {
              state.entries.append(try RevisionFile(files, "\(folder)/\(name)").entry())
            }
          } catch { state.problems.append(error.description) }
        }
      } catch { state.problems.append(error.description) }
      state.entries.sort { $0.number < $1.number }
    }
  }

  package var entries: [Entry] { state.withLock { $0.entries } }

  package func contains(_ revision: String) -> Bool {
    state.withLock { state in state.entries.contains { $0.revision == revision } }
  }

  package var problems: [String] {
    state.withLock { state in state.problems + state.damages.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// Reads the files of all revisions, so that `problems` have those that are damaged.
  package func review() {
    guard let folder else { return }
    for entry in entries {
      _ = try? noting(entry.revision) { () throws(StoreError) in
        try RevisionFile(files, "\(folder)/\(entry.revision)").check()
      }
    }
  }

  /// Notes the damage of a revision that `read` finds, or that there is none any more.
  private func noting<Content>(
    _ revision: String, _ read: () throws(StoreError) -> Content
  ) throws(StoreError) -> Content {
    do throws(StoreError) {
      let content = try read()
      state.withLock { $0.damages[revision] = nil }
      return content
    } catch {
      state.withLock { state in
        if state.entries.contains(where: { $0.revision == revision }) { state.damages[revision] = error.description }
      }
      throw error
    }
  }

  /// The latest revision that was loaded to be in force for all subjects before `revision`; without one, the latest of all.
  ///
  /// Nil if there is none.
  package func predecessor(of revision: String?) -> Entry? {
    let entries = entries
    let end = entries.firstIndex { $0.revision == revision } ?? entries.endIndex
    return entries[..<end].last { $0.origin != .rollout }
  }

  /// Keeps a revision; it is durable when this returns.
  ///
  /// A revision that is kept already becomes the latest one. Nothing is written if it is the latest and came from the same place.
  ///
  /// - Throws: when it can't be written; the error names the file.
  package func keep(_ catalog: Catalog, from origin: Origin) throws(StoreError) {
    let entries = entries
    if let last = entries.last, last.revision == catalog.revision, last.origin == origin { return }
    let before = entries.last { $0.origin != .rollout && $0.revision != catalog.revision }
    let known = before.flatMap { before in try? load(before.revision) }
    let entry = Entry(
      revision: catalog.revision, loadedAt: catalog.loadedAt, origin: origin,
      changed: Self.changes(from: known, to: catalog), number: 0)
    try add(Revision(entry: entry, rules: catalog.source, configuration: catalog.configuration))
  }

  /// Keeps a revision from another archive as the latest one, durably; does nothing if it is kept as of the same load, or was never in an archive.
  package func take(_ revision: Revision) throws(StoreError) {
    let entry = revision.entry
    let isKnown = entries.contains {
      $0.revision == entry.revision && $0.origin == entry.origin && $0.loadedAt.rfc3339 == entry.loadedAt.rfc3339
    }
    if entry.number > 0, !isKnown { try add(revision) }
  }

  /// Writes a revision as the latest one.
  private func add(_ revision: Revision) throws(StoreError) {
    var entry = revision.entry
    entry.number = (entries.last?.number ?? 0) + 1
    let revision = Revision(entry: entry, rules: revision.rules, configuration: revision.configuration)
    if let folder { try RevisionFile(files, "\(folder)/\(entry.revision)").write(revision) }
    state.withLock { [entry] state in
      if folder == nil { state.memory[entry.revision] = revision }
      state.entries.removeAll { $0.revision == entry.revision }
      state.entries.append(entry)
      state.damages[entry.revision] = nil
    }
  }

  /// The revisions in a folder that can't be read, a sentence each; reads all of them.
  package static func damages(in folder: String) -> [String] {
    guard SystemFiles().exists(folder) else { return [] }
    let archive = RevisionArchive(folder: folder, toRead: true)
    for entry in archive.entries { _ = try? archive.load(entry.revision) }
    return archive.problems
  }

  // MARK: Use

  /// The longest time in which a worker may still decide by replaced rules, in microseconds, with much to spare.
  private static let longestAdoption: Int64 = 3_600_000_000

  /// Notes at a start that only these revisions are in force; where the end of another revision's use was not noted, `now` is its end.
  package func resume(_ inForce: [String], now: Timestamp) {
    state.withLock { state in
      for index in state.entries.indices {
        if inForce.contains(state.entries[index].revision) {
          state.entries[index].usedUntil = nil
        } else if state.entries[index].usedUntil == nil {
          state.entries[index].usedUntil = now
        }
      }
    }
  }

  /// Notes that a revision came into force, `until` nil, or was in force until then; nothing happens to one that is not kept.
  ///
  /// - Throws: when its file can't be written; it counts all the same while the process runs.
  package func noteUse(of revision: String, until: Timestamp?) throws(StoreError) {
    let entry: Entry? = state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.revision == revision }),
        state.entries[index].usedUntil != until
      else { return nil }
      state.entries[index].usedUntil = until
      return state.entries[index]
    }
    guard let folder, let entry else { return }
    let known = try load(revision)
    try RevisionFile(files, "\(folder)/\(revision)").write(
      Revision(entry: entry, rules: known.rules, configuration: known.configuration))
  }

  package func mayHaveDecided(_ revision: String, since: Timestamp) -> Bool {
    guard let entry = entries.first(where: { $0.revision == revision }) else { return false }
    return entry.usedUntil.map { $0.microseconds + Self.longestAdoption >= since.microseconds } ?? true
  }

  /// The content of a revision.
  ///
  /// - Throws: `refused` when it is not kept; when its file can't be read or is damaged, an error that names the file.
  package func load(_ revision: String) throws(StoreError) -> Revision {
    guard contains(revision) else {
      throw StoreError(.refused, "no revision '\(revision)' is kept; 'rulectl revisions' lists them")
    }
    if let inMemory = state.withLock({ $0.memory[revision] }) { return inMemory }
    guard let folder else { throw StoreError(.refused, "the revision '\(revision)' was removed just now") }
    return try noting(revision) { () throws(StoreError) -> Revision in
      let found = try RevisionFile(files, "\(folder)/\(revision)").read()
      guard RevisionDocument.revision(of: found) == revision else {
        throw RevisionFile.damaged("\(folder)/\(revision)", "its content is that of another revision")
      }
      return found
    }
  }

  /// Removes the revisions that are not among the latest and that nobody needs.
  ///
  /// - Returns: how many were removed.
  @discardableResult
  package func removeUnneeded(_ isNeeded: (_ revision: String) -> Bool) throws(StoreError) -> Int {
    let old = entries.dropLast(Self.keptCount).map(\.revision).filter { !isNeeded($0) }
    for revision in old {
      if let folder { try files.remove("\(folder)/\(revision)") }
      state.withLock { state in
        state.entries.removeAll { $0.revision == revision }
        state.memory[revision] = nil
        state.damages[revision] = nil
      }
    }
    return old.count
  }

  /// The plugins whose files or configuration differ, and those that only one of both revisions has.
  private static func changes(from before: Revision?, to catalog: Catalog) -> [String] {
    let old = enabled(before?.rules.plugins ?? [], before?.configuration ?? [:])
    let new = enabled(catalog.source.plugins, catalog.configuration)
    let names = Set(old.map(\.name)).union(new.map(\.name))
    return names.sorted().filter { name in
      guard let old = old.first(where: { $0.name == name }), let new = new.first(where: { $0.name == name }),
        before?.configuration[name]?.settings ?? [:] == catalog.configuration[name]?.settings ?? [:]
      else { return true }
      return !CatalogBuilder.isSame(old, new)
    }
  }

  private static func enabled(
    _ plugins: [PluginSource], _ configuration: [String: Configuration.Plugin]
  ) -> [PluginSource] {
    plugins.filter { configuration[$0.name]?.isEnabled != false }
  }
}

extension RevisionArchive.Revision {
  /// The revision of a catalog, outside of the archive.
  package init(_ catalog: Catalog, from origin: RevisionArchive.Origin) {
    self.init(
      entry: .init(revision: catalog.revision, loadedAt: catalog.loadedAt, origin: origin, changed: [], number: 0),
      rules: catalog.source, configuration: catalog.configuration)
  }
}
