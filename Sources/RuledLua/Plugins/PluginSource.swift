/// The files of a plugin and of the shared library, as they were read at one moment.
package struct PluginSource: Sendable, Equatable {
  /// The folder's name, which is the plugin's.
  package let name: String
  /// `plugin.lua` and the modules beside it.
  package let modules: [SourceFile]
  /// The JSON files of the folder.
  package let data: [SourceFile]
  /// The files under `tests/`.
  package let tests: [SourceFile]
  /// The modules of `rules/lib`, and those of the installed library that plugins require.
  package let library: [SourceFile]

  package init(
    name: String, modules: [SourceFile], data: [SourceFile] = [], tests: [SourceFile] = [], library: [SourceFile] = []
  ) {
    self.name = name
    self.modules = modules
    self.data = data
    self.tests = tests
    self.library = library
  }

  package var entry: SourceFile? { modules.first { $0.name == "plugin.lua" } }

  /// The module that `require` finds under that name: one beside the entry, or else one of the library; of the library alone for `lib/…`, as
  /// the library's own modules require each other.
  func module(_ name: String) -> SourceFile? {
    let isOfLibrary = name.hasPrefix("lib/")
    let file = (isOfLibrary ? String(name.dropFirst(4)) : name) + ".lua"
    return (isOfLibrary ? nil : modules.first { $0.name == file }) ?? library.first { $0.name == file }
  }

  /// Whether a name or a string in its files of Lua is that word, so that a rule need not have made it of values.
  package func has(word: String) -> Bool { (modules + library).contains { $0.has(word: word) } }

  package func with(library: [SourceFile]) -> PluginSource {
    PluginSource(name: name, modules: modules, data: data, tests: tests, library: library)
  }
}
