internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// What a command's DIR means: a rules folder, or one plugin in one.
struct RulesPlace {
  /// The rules folder.
  let root: String
  /// The one plugin that is meant, or nil for all.
  let plugin: String?

  /// The place that `path` names.
  ///
  /// - Throws: When there is no such folder.
  init(_ path: String) throws(ToolError) {
    guard var buffer = Self.absolute(path) else {
      throw ToolError("there is no folder '\(path)'; name the rules folder or one plugin's folder")
    }
    guard Self.exists(buffer + "/.") else { throw ToolError("'\(path)' is no folder; name the rules folder") }
    if Self.exists(buffer + "/plugin.lua"), let slash = buffer.lastIndex(of: "/") {
      plugin = String(buffer[buffer.index(after: slash)...])
      buffer = String(buffer[..<slash])
      root = buffer.isEmpty ? "/" : buffer
    } else {
      plugin = nil
      root = buffer
    }
  }

  /// Reads the folder; beside the one plugin that is meant, only what is a plugin too.
  func read() throws(ReloadError) -> RulesSource {
    guard let plugin else { return try RulesFolder.read(root) }
    return try RulesFolder.read(root) { $0 == plugin || Self.exists("\(root)/\($0)/plugin.lua") }
  }

  /// Loads the rules with their own settings.
  ///
  /// When one plugin is meant, others that do not load are left out.
  func load(worker: LuaWorker) throws(ReloadError) -> Catalog {
    let source = try read()
    let now = Timestamp(microseconds: 0)
    do throws(ReloadError) {
      return try CatalogBuilder.build(source, configuration: [:], previous: nil, worker: worker, now: now)
    } catch {
      guard let plugin else { throw error }
      let broken = Set(error.errors.map { String($0.file.prefix { $0 != "/" }) })
      guard !broken.contains(plugin), !broken.contains("lib"), !broken.contains("") else { throw error }
      let rest = RulesSource(plugins: source.plugins.filter { !broken.contains($0.name) })
      return try CatalogBuilder.build(rest, configuration: [:], previous: nil, worker: worker, now: now)
    }
  }

  private static func absolute(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
