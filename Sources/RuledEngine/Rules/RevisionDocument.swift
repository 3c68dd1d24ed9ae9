package import RuledCore

/// A revision as JSON: as its file has it, and as the daemon keeps it with a pin and a rollout.
package enum RevisionDocument {
  /// How deep such a document nests: a setting may nest as deep as a value of a rule.
  package static let depth = Limits.jsonDepth + 8

  /// The whole revision as one object.
  package static func json(_ revision: RevisionArchive.Revision) -> JSONValue {
    .object(["entry": description(of: revision.entry), "content": content(of: revision)])
  }

  /// The revision that `json` gave.
  package static func revision(_ json: JSONValue) -> RevisionArchive.Revision? {
    guard let entry = json["entry"].flatMap(entry), let content = json["content"] else { return nil }
    return revision(entry, content: content)
  }

  /// The visible part of a revision: its files in order of path, and its configuration.
  package static func files(of revision: RevisionArchive.Revision) -> JSONValue {
    var files = revision.rules.plugins.flatMap { $0.modules + $0.data }
    files += revision.rules.plugins.first?.library ?? []
    files.sort { $0.path < $1.path }
    return .object([
      "configuration": content(of: revision)["configuration"] ?? .object([:]), "files": RulesSource.encode(files),
    ])
  }

  static func description(of entry: RevisionArchive.Entry) -> JSONValue {
    .members([
      "revision": .string(entry.revision), "loaded_at": .string(entry.loadedAt.rfc3339),
      "source": .string(entry.origin.rawValue), "changed": .array(entry.changed.map { .string($0) }),
      "number": .integer(entry.number), "used_until": entry.usedUntil.map { .string($0.exactRFC3339) },
    ])
  }

  static func entry(_ json: JSONValue) -> RevisionArchive.Entry? {
    guard let revision = json["revision"]?.stringValue,
      let loadedAt = json["loaded_at"]?.stringValue.flatMap({ Timestamp(rfc3339: $0) }),
      let origin = json["source"]?.stringValue.flatMap(RevisionArchive.Origin.init),
      let changed = json["changed"]?.arrayValue?.compactMap(\.stringValue), let number = json["number"]?.intValue
    else { return nil }
    return RevisionArchive.Entry(
      revision: revision, loadedAt: loadedAt, origin: origin, changed: changed, number: number,
      usedUntil: json["used_until"]?.stringValue.flatMap { Timestamp(rfc3339: $0) })
  }

  /// The rules and the configuration.
  static func content(of revision: RevisionArchive.Revision) -> JSONValue {
    var plugins = JSONObject()
    for (name, plugin) in revision.configuration.sorted(by: { $0.key < $1.key }) {
      plugins[name] = .members([
        "enabled": .bool(plugin.isEnabled), "settings": .object(plugin.settings),
        "sources": plugin.sources.map { .array($0.map { .string($0) }) },
      ])
    }
    return .object(["configuration": .object(plugins), "rules": revision.rules.encoded])
  }

  /// The revision of a description and a content.
  static func revision(_ entry: RevisionArchive.Entry, content: JSONValue) -> RevisionArchive.Revision? {
    guard let rules = content["rules"].flatMap(RulesSource.init(encoded:)),
      let plugins = content["configuration"]?.objectValue
    else { return nil }
    var configuration: [String: Configuration.Plugin] = [:]
    for (name, plugin) in plugins {
      guard let isEnabled = plugin["enabled"]?.boolValue, let settings = plugin["settings"]?.objectValue else {
        return nil
      }
      let sources = plugin["sources"]?.arrayValue?.compactMap(\.stringValue)
      configuration[name] = Configuration.Plugin(isEnabled: isEnabled, sources: sources, settings: settings)
    }
    return RevisionArchive.Revision(entry: entry, rules: rules, configuration: configuration)
  }

  /// The common name of rules and configuration.
  static func revision(of revision: RevisionArchive.Revision) -> String {
    Catalog.revision(of: revision.rules, revision.configuration)
  }
}
