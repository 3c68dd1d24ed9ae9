package import RuledCore

extension Configuration {
  /// The configured plugins, or plugins named by configured settings, that do not exist.
  package func unknownPlugins(known: [String], _ manifests: [PluginManifest]) -> [ConfigurationProblem] {
    let configured = plugins.keys.sorted().map { (path: ["plugins", $0], name: $0) }
    let named = manifests.flatMap { manifest in
      manifest.declaredSettings.compactMap { declaration -> (path: [String], name: String)? in
        guard case .text(.plugin) = declaration.type, let settings = plugins[manifest.name]?.settings,
          let name = Self.text(in: settings, at: declaration.keys), name != "",
          name != Self.text(in: manifest.ownSettings, at: declaration.keys)
        else { return nil }
        return (["plugins", manifest.name] + declaration.keys, name)
      }
    }
    return (configured + named).filter { !known.contains($0.name) }.map { path, name in
      let place = path.count > 2 ? ", which plugin '\(path[1])' has as '\(path[2...].joined(separator: "."))'" : ""
      let message = "there is no plugin '\(name)'\(place)\(NearestName.hint(name, in: known))"
      return ConfigurationProblem(path: path, message: message)
    }
  }

  private static func text(in settings: JSONObject, at keys: [String]) -> String? {
    keys.reduce(JSONValue.object(settings) as JSONValue?) { $0?[$1] }?.stringValue
  }
}

extension PluginManifest {
  /// The types of events that the plugin's rules listen to because of configured settings, and that are a slip of one of `known`.
  package func misspeltTypes(known: [String]) -> [ConfigurationProblem] {
    let types = rules.flatMap(\.on).compactMap { if case .exact(let type) = $0 { type } else { nil } }
    return Set(types).subtracting(known).sorted().compactMap { type in
      guard let near = known.first(where: { isOneEdit($0, type) }),
        let setting = overrides.first(where: { $0.value.text.contains(JSONValue.string(type).text) })?.name
      else { return nil }
      return ConfigurationProblem(
        path: ["plugins", name, setting],
        message: "by its setting '\(setting)' plugin '\(name)' listens to '\(type)', which no plugin describes; "
          + "did you mean '\(near)'?")
    }
  }
}
