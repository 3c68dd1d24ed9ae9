package import RuledCore

extension Configuration {
  /// The configured plugins, or plugins named by configured settings, that do not exist.
  package func unknownPlugins(known: [String], _ manifests: [PluginManifest]) -> [ConfigurationProblem] {
    let configured = plugins.keys.sorted().map { (path: ["plugins", $0], name: $0) }
    let named = manifests.flatMap { manifest in
      manifest.declaredSettings.compactMap { declaration -> (path: [String], name: String)? in
        guard case .plugin = declaration.type, let settings = plugins[manifest.name]?.settings,
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
