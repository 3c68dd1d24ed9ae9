package import RuledCore
package import RuledJSON

/// The declarations that the data of one event type must satisfy, those of all plugins.
package struct EventSchemas: Sendable {
  /// A plugin's declaration and the sources whose events it sees.
  private struct Entry {
    let manifest: PluginManifest
    let declaration: EventDeclaration
  }

  private let entries: [Entry]

  /// The checked declarations of `type`; nil when there are none.
  package init?(of type: String, in manifests: [PluginManifest]) {
    entries = manifests.compactMap { manifest in
      manifest.events.first { $0.type == type && $0.isChecked }.map { Entry(manifest: manifest, declaration: $0) }
    }
    if entries.isEmpty { return nil }
  }

  /// Checks the data of an event from `source`; nil or null counts as an object without members.
  ///
  /// A plugin that does not see events of that source does not judge them. A closed declaration takes the members that another one declares.
  package func check(_ data: TapeValue?, source: ByteView) throws(SchemaMismatch) {
    for entry in entries {
      guard entry.manifest.sources.isEmpty || entry.manifest.accepts(source: source.text) else { continue }
      let known = entry.declaration.isClosed ? entries.flatMap(\.declaration.data.names) : nil
      try entry.declaration.data.check(data, at: "data", onlyKnown: known)
    }
  }
}
