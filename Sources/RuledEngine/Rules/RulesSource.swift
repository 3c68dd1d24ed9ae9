package import RuledCore
package import RuledLua

/// A rules folder as it stood at one moment: what a revision is made of.
package struct RulesSource: Sendable {
  /// The plugins, in order of name.
  package let plugins: [PluginSource]
  /// What names this state of the folder: the first 16 hexadecimal digits of a hash of all that was read.
  package let revision: String

  /// A state of the folder.
  package init(plugins: [PluginSource]) {
    self.plugins = plugins.sorted { $0.name < $1.name }
    var hash = SHA256()
    var library: [SourceFile] = []
    for plugin in self.plugins {
      for file in plugin.modules + plugin.data { Self.feed(file, of: plugin.name, to: &hash) }
      // Of a folder all plugins have the same one, which is then compared by its place in memory.
      guard plugin.library != library else { continue }
      library = plugin.library
      for file in library { Self.feed(file, of: "lib", to: &hash) }
    }
    revision = String(hash.finish().hex.prefix(16))
  }

  private static func feed(_ file: SourceFile, of plugin: String, to hash: inout SHA256) {
    hash.update("\(plugin)\n\(file.path)\n\(file.text.count)\n")
    file.text.withUnsafeBytes { hash.update($0) }
  }

  // MARK: Keeping

  /// The state to be kept as the last good revision, with the library that all plugins of a folder share; tests are left out.
  package var encoded: JSONValue {
    .object([
      "library": Self.encode(plugins.first?.library ?? []),
      "plugins": .array(
        plugins.map { plugin in
          .object([
            "name": .string(plugin.name), "modules": Self.encode(plugin.modules), "data": Self.encode(plugin.data),
          ])
        }),
    ])
  }

  /// The state that `encoded` gave, or, as a list of plugins each with its library, an earlier version of it.
  package init?(encoded value: JSONValue) {
    guard let list = (value["plugins"] ?? value).arrayValue else { return nil }
    let shared = value["library"].map { Self.decode($0) }
    self.init(
      plugins: list.compactMap { plugin in
        guard let name = plugin["name"]?.stringValue else { return nil }
        return PluginSource(
          name: name, modules: Self.decode(plugin["modules"]), data: Self.decode(plugin["data"]),
          library: shared ?? Self.decode(plugin["library"]))
      })
  }

  private static func encode(_ files: [SourceFile]) -> JSONValue {
    .array(
      files.map { .object(["path": .string($0.path), "text": .string(String(decoding: $0.text, as: UTF8.self))]) })
  }

  private static func decode(_ value: JSONValue?) -> [SourceFile] {
    (value?.arrayValue ?? []).compactMap { file in
      guard let path = file["path"]?.stringValue, let text = file["text"]?.stringValue else { return nil }
      return SourceFile(path: path, text: Array(text.utf8))
    }
  }
}
