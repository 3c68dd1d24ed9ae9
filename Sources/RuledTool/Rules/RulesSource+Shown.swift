internal import RuledCore
internal import RuledEngine
internal import RuledLua

extension RulesSource {
  /// The plugins of the files that a daemon shows of a revision.
  init(shown files: [JSONValue]) {
    let sources = files.compactMap { file -> SourceFile? in
      guard let path = file.member("path")?.stringValue, let text = file.member("text")?.stringValue else { return nil }
      return SourceFile(path: path, text: Array(text.utf8))
    }
    func folder(of file: SourceFile) -> String { String(file.path.prefix { $0 != "/" }) }
    let isLua = { (file: SourceFile) in file.path.hasSuffix(".lua") }
    var modules = Dictionary(grouping: sources.filter(isLua), by: folder)
    let data = Dictionary(grouping: sources.filter { !isLua($0) }, by: folder)
    let library = modules.removeValue(forKey: "lib") ?? []
    self.init(
      plugins: modules.map { name, modules in
        PluginSource(name: name, modules: modules, data: data[name] ?? [], library: library)
      })
  }
}
