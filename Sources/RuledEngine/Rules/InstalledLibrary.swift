import RuledCore
import RuledLua
import RuledStore

/// The modules that are installed with the program: `require` looks here after the plugin's folder and `rules/lib`.
package enum InstalledLibrary {
  /// The folder with the modules; nil if it is not installed.
  package static let folder = ProgramFolder.find(
    installed: "share/ruled/lib", inSources: "rules/lib", with: "routes.lua")

  /// The rules with the modules of `folder` that they require, directly or not, and don't have.
  ///
  /// Only these belong to a revision: an upgrade of the program changes only rules that use its modules.
  package static func completing(_ rules: RulesSource, from folder: String? = folder) -> RulesSource {
    let library = rules.plugins.first?.library ?? []
    let more = folder.map { modules(for: rules.plugins, besides: library, in: $0) } ?? []
    return more.isEmpty ? rules : RulesSource(plugins: rules.plugins.map { $0.with(library: library + more) })
  }

  private static func modules(
    for plugins: [PluginSource], besides library: [SourceFile], in folder: String
  ) -> [SourceFile] {
    var known = names(of: library)
    // The search through all texts is slow.
    let installed = ((try? Folder.names(folder)) ?? []).filter { $0.hasSuffix(".lua") }.map { String($0.dropLast(4)) }
    guard !known.isSuperset(of: installed) else { return [] }
    var found: [SourceFile] = []
    var asked = library.reduce(into: Set()) { $0.formUnion(required(in: $1.text)) }
    for plugin in plugins {
      let files = plugin.modules + plugin.tests
      asked.formUnion(
        files.reduce(into: Set()) { $0.formUnion(required(in: $1.text)) }.subtracting(names(of: plugin.modules)))
    }
    while let name = asked.popFirst() {
      guard known.insert(name).inserted,
        let text = try? RegularFile.read("\(folder)/\(name).lua", limit: Limits.sourceFileBytes)
      else { continue }
      found.append(SourceFile(path: "lib/\(name).lua", text: text))
      asked.formUnion(required(in: text))
    }
    return found.sorted { $0.path < $1.path }
  }

  private static func names(of files: [SourceFile]) -> Set<String> { Set(files.map { String($0.name.dropLast(4)) }) }

  /// The names that a text requires in quotes, also through `pcall`, as far as a module of the library may have them.
  private static func required(in text: [UInt8]) -> Set<String> {
    let word = Array("require".utf8)
    var names: Set<String> = []
    var rest = text[...]
    while let found = rest.firstRange(of: word) {
      rest = rest[found.upperBound...]
      let argument = rest.drop { " (,".utf8.contains($0) }
      guard let quote = argument.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { continue }
      let name = argument.dropFirst().prefix { isLetter($0) }
      if argument.dropFirst(1 + name.count).first == quote { names.insert(name.text) }
    }
    return names
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
  }
}
