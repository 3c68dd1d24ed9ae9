import RuledCore
import RuledJSON
import RuledLua
package import RuledStore
import Synchronization

/// The rules whose steps lead states back: for each plugin, those with the highest version that its states may have.
///
/// The store keeps them, so that they are there after a restart, on each node of a cluster, and in each snapshot that a replay begins with.
package final class StateSteps: Sendable {
  /// A plugin with the steps down from its version.
  struct Steps: Sendable {
    let version: Int
    /// The versions whose steps lead down.
    let downs: Set<Int>
    let source: PluginSource
    let settings: JSONObject

    /// Why states can't go back to an earlier version; nil if they can.
    func obstacle(backTo version: Int) -> String? {
      guard version < self.version, let step = (version + 1...self.version).last(where: { !downs.contains($0) }) else {
        return nil
      }
      return "states of plugin '\(source.name)' may have version \(self.version), these rules have version \(version), "
        + "and step \(step) of its migrations has no 'down'"
    }
  }

  private let known = Mutex<[String: Steps]>([:])

  /// The steps of a plugin's highest version.
  subscript(plugin: String) -> Steps? { known.withLock { $0[plugin] } }

  /// Notes rules whose plugins may store states from now on.
  package func note(_ catalog: Catalog) {
    for plugin in catalog.plugins { _ = note(plugin) }
  }

  /// Notes rules, and stores their new steps durably.
  package func keep(_ catalog: Catalog, in store: any StateStore) throws(StoreError) {
    let set = WriteSet(capacity: 4096)
    for plugin in catalog.plugins {
      guard let steps = note(plugin) else { continue }
      StoredValue(name: StoreKey.stepsName + plugin.name).put(into: set, steps.json.write(to:))
    }
    if !set.isEmpty { try store.commit(set, durable: true) }
  }

  package func load(from store: any StateStore) throws(StoreError) {
    try store.scan(prefix: StoredValue(name: StoreKey.stepsName).key) { _, value in
      add(value)
      return true
    }
  }

  /// Adds a plugin's steps as a store keeps them, unless those of a higher version are known.
  func add(_ value: ByteView) {
    let json = try? JSONValue(parsing: value, maximumDepth: RevisionDocument.depth)
    guard let steps = json.flatMap(Steps.init) else { return }
    known.withLock { known in
      if known[steps.source.name].map({ $0.version <= steps.version }) ?? true { known[steps.source.name] = steps }
    }
  }

  /// Notes a plugin; the result is its steps if they are new.
  private func note(_ plugin: Catalog.Plugin) -> Steps? {
    guard plugin.stateVersion > 1 else { return nil }
    return known.withLock { known in
      let (old, overrides) = (known[plugin.name], plugin.overrides)
      if let old, old.version > plugin.stateVersion { return nil }
      if let old, old.version == plugin.stateVersion, old.settings == overrides,
        CatalogBuilder.isSame(old.source, plugin.source)
      {
        return nil
      }
      let steps = Steps(plugin)
      known[plugin.name] = steps
      return steps
    }
  }

  // MARK: Rules

  /// Why rules can't come into force, as states can't go back to their versions; nil if they can.
  package func obstacle(to catalog: Catalog) -> ReloadError? {
    let errors = catalog.plugins.compactMap { plugin in
      self[plugin.name]?.obstacle(backTo: plugin.stateVersion).map { plugin.refusal($0) }
    }
    return errors.isEmpty ? nil : ReloadError(errors)
  }

  /// Why rules can't be tried on some subjects, as these couldn't go back to the rules in force; nil if they can.
  package func obstacle(toTrying catalog: Catalog, besides live: Catalog) -> ReloadError? {
    if let obstacle = obstacle(to: catalog) { return obstacle }
    let errors = catalog.plugins.compactMap { plugin -> LoadError? in
      let version = live.plugin(plugin.name)?.stateVersion ?? plugin.stateVersion
      return Steps(plugin).obstacle(backTo: version).map {
        plugin.refusal($0.replacing("these rules have", with: "the rules in force have") + ": a rollout could not end")
      }
    }
    return errors.isEmpty ? nil : ReloadError(errors)
  }
}

extension StateSteps.Steps {
  fileprivate init(_ plugin: Catalog.Plugin) {
    let source = plugin.source
    version = plugin.stateVersion
    downs = Set(plugin.manifest.steps.filter(\.value.hasDown).keys)
    self.source = PluginSource(
      name: source.name, modules: source.modules, data: source.data, library: CatalogBuilder.required(by: source))
    settings = plugin.overrides
  }

  fileprivate init?(_ json: JSONValue) {
    guard let version = json["version"]?.intValue, let downs = json["downs"]?.arrayValue?.compactMap(\.intValue),
      let source = json["rules"].flatMap(RulesSource.init(encoded:))?.plugins.first,
      let settings = json["settings"]?.objectValue
    else { return nil }
    self.init(version: Int(version), downs: Set(downs.map { Int($0) }), source: source, settings: settings)
  }

  fileprivate var json: JSONValue {
    .object([
      "version": .integer(Int64(version)), "downs": .array(downs.sorted().map { .integer(Int64($0)) }),
      "rules": RulesSource(plugins: [source]).encoded, "settings": .object(settings),
    ])
  }
}

extension Catalog.Plugin {
  /// Why the plugin can't come into force, with where it declares its state.
  fileprivate func refusal(_ message: String) -> LoadError {
    let state = manifest.state
    return LoadError(file: state?.file ?? "\(name)/plugin.lua", line: state?.line ?? 0, message)
  }
}

extension Catalog {
  /// Why these rules can't follow others, as the shape of a state has changed without a new version; nil if they can.
  package func changedShape(since others: Catalog) -> ReloadError? {
    let errors = plugins.compactMap { plugin in
      others.plugin(plugin.name).flatMap { plugin.manifest.obstacle(after: $0.manifest) }
    }
    return errors.isEmpty ? nil : ReloadError(errors)
  }
}
