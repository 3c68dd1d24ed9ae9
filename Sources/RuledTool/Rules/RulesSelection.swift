internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// The plugins that a command's DIRs name: all of a rules folder, or some of them.
struct RulesSelection: Sendable {
  let root: String
  /// The names of the plugins, or nil for all.
  let plugins: Set<String>?
  /// Whether the library's tests are read, as those of a plugin `lib`.
  private let libraryTests: Bool

  /// The selection of `paths`: rules folders, or plugins' folders in one; `rules` if there is none.
  ///
  /// - Throws: When there is no such folder, or the folders are of several rules folders.
  init(_ paths: [String], libraryTests: Bool = false) throws(ToolError) {
    var root: String?
    var names: Set<String>? = []
    for path in paths.isEmpty ? ["rules"] : paths {
      let (folder, plugin) = try Self.split(path)
      guard root == nil || root == folder else {
        throw ToolError("'\(path)' is in another rules folder than '\(paths[0])'; name folders of one rules folder")
      }
      root = folder
      if let plugin { names?.insert(plugin) } else { names = nil }
    }
    self.root = root ?? ""
    plugins = names
    self.libraryTests = libraryTests && names?.contains("lib") ?? true
  }

  /// The rules folder of a path, and the plugin whose folder it is, if it is one.
  private static func split(_ path: String) throws(ToolError) -> (root: String, plugin: String?) {
    guard let folder = path.realPath else {
      let inRules = "rules/\(path)"
      let advice = exists(inRules) ? "did you mean '\(inRules)'?" : "name the rules folder or one plugin's folder"
      throw ToolError("there is no folder '\(path)'; \(advice)")
    }
    guard exists(folder + "/.") else { throw ToolError("'\(path)' is no folder; name the rules folder") }
    guard exists(folder + "/plugin.lua") || folder.hasSuffix("/lib") && exists(folder + "/tests"),
      let slash = folder.lastIndex(of: "/")
    else { return (folder, nil) }
    let root = slash == folder.startIndex ? "/" : String(folder[..<slash])
    return (root, String(folder[folder.index(after: slash)...]))
  }

  /// Reads the rules folder.
  ///
  /// When plugins are selected, other folders in it need not be plugins.
  func read() throws(ReloadError) -> RulesSource {
    try RulesFolder.read(root, including: includes, libraryTests: libraryTests)
  }

  private func includes(_ name: String) -> Bool {
    plugins.map { $0.contains(name) || Self.exists("\(root)/\(name)/plugin.lua") } ?? true
  }

  func readable() -> (plugins: [PluginSource], errors: [LoadError]) {
    do throws(ReloadError) { return (try read().plugins, []) } catch {
      let broken = Set(error.errors.map { String($0.file.prefix { $0 != "/" }) })
      guard !broken.contains(""), !broken.contains("lib") else { return ([], error.errors) }
      let others = try? RulesFolder.read(root, including: { !broken.contains($0) }, libraryTests: libraryTests)
      return (others?.plugins ?? [], error.errors)
    }
  }

  /// Loads the rules with the plugins' own settings.
  ///
  /// When plugins are selected, others that do not load are left out. `known` are the rules if they were read before.
  func load(_ known: RulesSource? = nil, worker: LuaWorker) throws(ReloadError) -> Catalog {
    let source = if let known { known } else { try read() }
    let now = Timestamp(microseconds: 0)
    do throws(ReloadError) {
      return try CatalogBuilder.build(
        source, configuration: [:], previous: nil, worker: worker, checksFiles: true, now: now)
    } catch {
      guard let plugins else { throw error }
      let broken = Set(error.errors.map { String($0.file.prefix { $0 != "/" }) })
      guard broken.isDisjoint(with: plugins), !broken.contains("lib"), !broken.contains("") else { throw error }
      let loadable = RulesSource(plugins: source.plugins.filter { !broken.contains($0.name) })
      return try CatalogBuilder.build(loadable, configuration: [:], previous: nil, worker: worker, now: now)
    }
  }

  func contains(_ name: String) -> Bool { plugins?.contains(name) ?? true }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

extension RulesSource {
  /// The plugins of a revision as a daemon shows it.
  init(shown revision: JSONValue) {
    var files = Dictionary(grouping: Self.decode(revision["files"])) { String($0.path.prefix { $0 != "/" }) }
    let library = files.removeValue(forKey: "lib") ?? []
    self.init(
      plugins: files.map { name, files in
        PluginSource(
          name: name, modules: files.filter { $0.path.hasSuffix(".lua") },
          data: files.filter { !$0.path.hasSuffix(".lua") }, library: library)
      })
  }
}
