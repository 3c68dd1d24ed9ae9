import Glibc
import RuledCore
import RuledLua

/// Reads a rules folder: one plugin a subfolder, and the shared modules in `lib`.
package enum RulesFolder {
  /// Reads all that stands in the folder at `path`; symbolic links are followed.
  ///
  /// Of the subfolders those count as plugins that `including` says so of; one that is none is an error.
  package static func read(
    _ path: String, including: (_ name: String) -> Bool = { _ in true }
  ) throws(ReloadError) -> RulesSource {
    guard let names = entries(of: path) else {
      throw ReloadError([
        LoadError(file: "", line: 0, "the rules folder \(path) can't be read: \(String(cString: strerror(errno)))")
      ])
    }
    var errors: [LoadError] = []
    let folders = names.filter { isFolder("\(path)/\($0)") }
    let library = folders.contains("lib") ? files(of: path, "lib", ending: ".lua", &errors) : []
    var plugins: [PluginSource] = []
    for name in folders where name != "lib" && including(name) {
      let modules = files(of: path, name, ending: ".lua", &errors)
      guard modules.contains(where: { $0.path == "\(name)/plugin.lua" }) else {
        errors.append(
          LoadError(file: "\(name)/plugin.lua", line: 0, "a folder under rules/ is a plugin and needs a plugin.lua"))
        continue
      }
      let tests = isFolder("\(path)/\(name)/tests") ? files(of: path, "\(name)/tests", ending: ".lua", &errors) : []
      plugins.append(
        PluginSource(
          name: name, modules: modules, data: files(of: path, name, ending: ".json", &errors), tests: tests,
          library: library))
    }
    guard errors.isEmpty else { throw ReloadError(errors) }
    return RulesSource(plugins: plugins)
  }

  /// Whether a file of that name counts: dot files and what editors leave behind do not.
  static func counts(_ name: String) -> Bool {
    !name.hasPrefix(".") && !name.hasPrefix("#") && !name.hasSuffix("~") && !name.hasSuffix(".swp")
      && !name.hasSuffix(".tmp")
  }

  private static func entries(of path: String) -> [String]? {
    guard let folder = opendir(path) else { return nil }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if counts(name) { names.append(name) }
    }
    return names.sorted()
  }

  private static func isFolder(_ path: String) -> Bool {
    var information = stat()
    return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
  }

  private static func files(
    of root: String, _ folder: String, ending: String, _ errors: inout [LoadError]
  ) -> [SourceFile] {
    var files: [SourceFile] = []
    for name in entries(of: "\(root)/\(folder)") ?? [] where name.hasSuffix(ending) {
      let path = "\(folder)/\(name)"
      guard !isFolder("\(root)/\(path)") else { continue }
      guard let text = FileContent.read("\(root)/\(path)") else {
        errors.append(LoadError(file: path, line: 0, "can't be read: \(String(cString: strerror(errno)))"))
        continue
      }
      if ending == ".lua", text.count > Limits.sourceFileBytes {
        errors.append(LoadError(file: path, line: 1, "the file is larger than 256 KiB"))
      } else {
        files.append(SourceFile(path: path, text: text))
      }
    }
    return files
  }
}
