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
  /// The modules of `rules/lib`.
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

  /// The plugin's entry, `plugin.lua`.
  package var entry: SourceFile? { modules.first { $0.name == "plugin.lua" } }

  /// The module that `require` finds under that name: one beside the entry, or else one of the library.
  func module(_ name: String) -> SourceFile? {
    let file = name + ".lua"
    return modules.first { $0.name == file } ?? library.first { $0.name == file }
  }
}
