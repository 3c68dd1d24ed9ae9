internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// The plugins that a command's DIR names: all of a rules folder, or one of them.
struct RulesSelection {
  /// The rules folder.
  let root: String
  /// The one plugin, or nil for all.
  let plugin: String?

  /// The selection of `path`, which is a rules folder or a plugin's folder in one.
  ///
  /// - Throws: When there is no such folder.
  init(_ path: String) throws(ToolError) {
    guard let folder = Self.absolute(path) else {
      throw ToolError("there is no folder '\(path)'; name the rules folder or one plugin's folder")
    }
    guard Self.exists(folder + "/.") else { throw ToolError("'\(path)' is no folder; name the rules folder") }
    if Self.exists(folder + "/plugin.lua"), let slash = folder.lastIndex(of: "/") {
      plugin = String(folder[folder.index(after: slash)...])
      root = slash == folder.startIndex ? "/" : String(folder[..<slash])
    } else {
      plugin = nil
      root = folder
    }
  }

  /// Reads the rules folder.
  ///
  /// When one plugin is selected, other folders in it need not be plugins.
  func read() throws(ReloadError) -> RulesSource {
    guard let plugin else { return try RulesFolder.read(root) }
    return try RulesFolder.read(root) { $0 == plugin || Self.exists("\(root)/\($0)/plugin.lua") }
  }

  /// Loads the rules with the plugins' own settings.
  ///
  /// When one plugin is selected, others that do not load are left out.
  func load(worker: LuaWorker) throws(ReloadError) -> Catalog {
    let source = try read()
    let now = Timestamp(microseconds: 0)
    do throws(ReloadError) {
      return try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: worker, now: now)
    } catch {
      guard let plugin else { throw error }
      let broken = Set(error.errors.map { String($0.file.prefix { $0 != "/" }) })
      guard !broken.contains(plugin), !broken.contains("lib"), !broken.contains("") else { throw error }
      let loadable = RulesSource(plugins: source.plugins.filter { !broken.contains($0.name) })
      return try CatalogBuilder.build(loadable, configuration: [:], previous: nil, worker: worker, now: now)
    }
  }

  /// Whether `name` is among the selected plugins.
  func contains(_ name: String) -> Bool { plugin == nil || plugin == name }

  private static func absolute(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
