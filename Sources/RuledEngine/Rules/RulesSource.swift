package import RuledCore
package import RuledLua

/// The content of a rules folder at one moment, from which a catalog is built.
package struct RulesSource: Sendable {
  /// The plugins, in order of name.
  package let plugins: [PluginSource]
  /// The name of this content: the first 16 hexadecimal digits of its hash.
  package let revision: String

  package init(plugins: [PluginSource]) {
    self.plugins = plugins.sorted { $0.name < $1.name }
    var hash = SHA256()
    var library: [SourceFile] = []
    for plugin in self.plugins {
      for file in plugin.modules + plugin.data { Self.feed(file, of: plugin.name, to: &hash) }
      // The plugins of one folder share the library, so that this compares addresses.
      guard plugin.library != library else { continue }
      library = plugin.library
      for file in library { Self.feed(file, of: "lib", to: &hash) }
    }
    revision = String(hash.finish().hex.prefix(16))
  }

  private static func feed(_ file: SourceFile, of plugin: String, to hash: inout SHA256) {
    hash.update("\(plugin)\n\(file.path)\n\(file.text.count)\n")
    file.text.withView { hash.update($0) }
  }

  // MARK: Encoding

  /// The content as JSON, to be stored as the last good revision, without tests.
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

  /// The content that `encoded` gave; also in the older form, a list of plugins each with its library.
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

  /// Files as JSON: each with its path and its text, or with its bytes in hexadecimal digits where they are no UTF-8.
  static func encode(_ files: [SourceFile]) -> JSONValue {
    .array(
      files.map { file in
        var object: JSONObject = ["path": .string(file.path)]
        // A file that is no UTF-8 must come back byte for byte, too.
        if let text = String(validating: file.text, as: UTF8.self) {
          object["text"] = .string(text)
        } else {
          object["hex"] = .string(file.text.hex)
        }
        return .object(object)
      })
  }

  /// The files that `encode` gave.
  package static func decode(_ value: JSONValue?) -> [SourceFile] {
    (value?.arrayValue ?? []).compactMap { file in
      guard let path = file["path"]?.stringValue else { return nil }
      if let text = file["text"]?.stringValue { return SourceFile(path: path, text: Array(text.utf8)) }
      return (file["hex"]?.stringValue).flatMap(Self.bytes).map { SourceFile(path: path, text: $0) }
    }
  }

  /// The bytes that an even number of hexadecimal digits stands for.
  private static func bytes(_ hex: String) -> [UInt8]? {
    let digits = hex.utf8.compactMap(HexDigit.value)
    guard digits.count == hex.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
