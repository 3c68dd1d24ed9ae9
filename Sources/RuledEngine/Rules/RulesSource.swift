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
    for plugin in self.plugins {
      for file in plugin.modules + plugin.data + plugin.library { Self.feed(file, of: plugin.name, to: &hash) }
    }
    revision = String(hash.finish().hex.prefix(16))
  }

  private static func feed(_ file: SourceFile, of plugin: String, to hash: inout SHA256) {
    hash.update("\(plugin)\n\(file.path)\n\(file.text.count)\n")
    file.text.withUnsafeBytes { hash.update($0) }
  }

  // MARK: Keeping

  /// The state as bytes, to be kept as the last good revision; tests are left out.
  package var encoded: JSONValue {
    .array(
      plugins.map { plugin in
        .object([
          "name": .string(plugin.name), "modules": Self.encode(plugin.modules), "data": Self.encode(plugin.data),
          "library": Self.encode(plugin.library),
        ])
      })
  }

  /// The state that `encoded` gave.
  package init?(encoded value: JSONValue) {
    guard let list = value.arrayValue else { return nil }
    self.init(
      plugins: list.compactMap { plugin in
        guard let name = plugin["name"]?.stringValue else { return nil }
        return PluginSource(
          name: name, modules: Self.decode(plugin["modules"]), data: Self.decode(plugin["data"]),
          library: Self.decode(plugin["library"]))
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
