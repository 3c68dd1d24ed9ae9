import Glibc
import RuledCore
import RuledLua

/// Reads a rules folder: each subfolder is a plugin, and `lib` holds the shared modules.
///
/// Only regular files within the folder are read, without blocking, and no more than `Limits` allows. Links are followed within the folder. A
/// link that leaves it is an error, and so is anything but a file where a file is expected.
package enum RulesFolder {
  /// Reads the folder at `path`, which may be a link.
  ///
  /// The subfolders for which `including` is true are read as plugins; any of them that is no plugin is an error. The library also has the modules of
  /// `installed` that the plugins require. With `libraryTests` the tests of `lib` are read as those of a plugin `lib`, whose entry is
  /// `lib/tests/plugin.lua`.
  package static func read(
    _ path: String, including: (_ name: String) -> Bool = { _ in true }, libraryTests: Bool = false,
    installed: String? = InstalledLibrary.folder
  ) throws(ReloadError) -> RulesSource {
    let tree: FolderTree
    do throws(RegularFile.Refusal) { tree = try FolderTree(path) } catch {
      throw ReloadError([LoadError(file: "", line: 0, "the rules folder \(path) \(error)")])
    }
    var reader = Reader(tree: tree)
    do throws(EndOfReading) {
      let plugins = try reader.plugins(including, libraryTests: libraryTests)
      if reader.errors.isEmpty { return InstalledLibrary.completing(RulesSource(plugins: plugins), from: installed) }
    } catch {}
    throw ReloadError(reader.errors)
  }

  /// Whether a file of that name is read: dot files and the backups of editors are ignored.
  static func isRead(_ name: String) -> Bool {
    !name.hasPrefix(".") && !name.hasPrefix("#") && !name.hasSuffix("~") && !name.hasSuffix(".swp")
      && !name.hasSuffix(".tmp")
  }

  /// Thrown to stop reading, as there are too many errors or too many files; the errors tell which.
  private struct EndOfReading: Error {}

  private struct Reader {
    private static let mostErrors = 100

    let tree: FolderTree
    private(set) var errors: [LoadError] = []
    private var remainingEntries = Limits.folderEntries
    private var remainingBytes = Limits.folderBytes

    init(tree: FolderTree) { self.tree = tree }

    mutating func plugins(
      _ including: (_ name: String) -> Bool, libraryTests: Bool
    ) throws(EndOfReading) -> [PluginSource] {
      var library: [SourceFile] = []
      var plugins: [PluginSource] = []
      for name in try names(in: tree.root, "") where name.mayLead && (name.text == "lib" || including(name.text)) {
        guard case .folder(let folder)? = try entry(name.text, in: tree.root, name.text) else { continue }
        if name.text == "lib" {
          var tests: FolderTree.Folder?
          library = try files(of: folder, "lib", tests: &tests).filter { $0.name.hasSuffix(".lua") }
          if libraryTests, let tests { plugins.append(try testsOfLibrary(tests)) }
        } else if let plugin = try plugin(name.text, folder) {
          plugins.append(plugin)
        }
      }
      return plugins.map { $0.with(library: library) }
    }

    /// The tests of the library, as a plugin that only tools load: its entry may declare the rules that the tests need.
    private mutating func testsOfLibrary(_ folder: FolderTree.Folder) throws(EndOfReading) -> PluginSource {
      let files = try files(of: folder, "lib/tests").filter { $0.name.hasSuffix(".lua") }
      let entry = files.first { $0.name == "plugin.lua" }
      return PluginSource(
        name: "lib",
        modules: [entry ?? SourceFile(path: "lib/tests/plugin.lua", text: Array("plugin { name = \"lib\" }\n".utf8))],
        tests: files.filter { $0.name != "plugin.lua" })
    }

    private mutating func plugin(_ name: String, _ folder: FolderTree.Folder) throws(EndOfReading) -> PluginSource? {
      let before = errors.count
      var tests: FolderTree.Folder?
      let files = try files(of: folder, name, tests: &tests)
      guard files.contains(where: { $0.path == "\(name)/plugin.lua" }) else {
        let isReported = errors[before...].contains { $0.file == "\(name)/plugin.lua" || $0.file == name }
        if !isReported {
          try report("\(name)/plugin.lua", "a folder under rules/ is a plugin and needs a plugin.lua")
        }
        return nil
      }
      return PluginSource(
        name: name, modules: files.filter { $0.name.hasSuffix(".lua") },
        data: files.filter { $0.name.hasSuffix(".json") },
        tests: try tests.map { folder throws(EndOfReading) in
          try self.files(of: folder, "\(name)/tests").filter { $0.name.hasSuffix(".lua") }
        } ?? [])
    }

    private mutating func files(of folder: FolderTree.Folder, _ path: String) throws(EndOfReading) -> [SourceFile] {
      var none: FolderTree.Folder?
      return try files(of: folder, path, tests: &none)
    }

    /// The sources and data of a folder, and its subfolder of tests.
    private mutating func files(
      of folder: FolderTree.Folder, _ path: String, tests: inout FolderTree.Folder?
    ) throws(EndOfReading) -> [SourceFile] {
      var files: [SourceFile] = []
      for name in try names(in: folder, path) {
        let file = "\(path)/\(name.text)"
        let isSource = name.text.hasSuffix(".lua")
        guard isSource || name.text.hasSuffix(".json") else {
          if name.text == "tests", name.mayLead {
            if case .folder(let found)? = try entry(name.text, in: folder, file) { tests = found }
          } else if name.mayLead {
            try checkStays(name.text, in: folder, file)
          }
          continue
        }
        switch try entry(name.text, in: folder, file) {
        case .file(let found, let folder)?:
          let limit = isSource ? Limits.sourceFileBytes : Limits.dataFileBytes
          if let text = try text(found, in: folder, limit, file) { files.append(SourceFile(path: file, text: text)) }
        case .folder?: try report(file, RegularFile.Refusal(kind: S_IFDIR).description)
        case .other(let mode)?: try report(file, RegularFile.Refusal(kind: mode).description)
        case nil: break
        }
      }
      return files
    }

    private mutating func text(
      _ name: String, in folder: FolderTree.Folder, _ limit: Int, _ path: String
    ) throws(EndOfReading) -> [UInt8]? {
      let text: [UInt8]
      do throws(RegularFile.Refusal) { text = try RegularFile.read(name, in: folder.descriptor, limit: limit) } catch {
        try report(path, error.description)
        return nil
      }
      remainingBytes -= text.count
      guard remainingBytes >= 0 else {
        try report(path, "with this file the rules folder holds more than \(Limits.folderBytes >> 20) MiB; remove some")
        throw EndOfReading()
      }
      return text
    }

    /// The names that are read, in order.
    private mutating func names(in folder: FolderTree.Folder, _ path: String) throws(EndOfReading) -> [FolderTree.Name]
    {
      do throws(RegularFile.Refusal) {
        if let names = try tree.names(in: folder, limit: remainingEntries) {
          remainingEntries -= names.count
          return names.filter { RulesFolder.isRead($0.text) }.sorted { $0.text < $1.text }
        }
      } catch {
        try report(path, error.description)
        return []
      }
      try report(path, "the rules folder holds more than \(Limits.folderEntries) files and folders; remove some")
      throw EndOfReading()
    }

    private mutating func entry(
      _ name: String, in folder: FolderTree.Folder, _ path: String
    ) throws(EndOfReading) -> FolderTree.Entry? {
      do throws(RegularFile.Refusal) { return try tree.entry(name, in: folder) } catch {
        try report(path, error.description)
        return nil
      }
    }

    /// Reports a link that leaves the folder, even if its target would not be read.
    private mutating func checkStays(
      _ name: String, in folder: FolderTree.Folder, _ path: String
    ) throws(EndOfReading) {
      do throws(RegularFile.Refusal) { _ = try tree.entry(name, in: folder) } catch  where error.leavesFolder {
        try report(path, error.description)
      } catch {}
    }

    private mutating func report(_ file: String, _ message: String) throws(EndOfReading) {
      errors.append(LoadError(file: file, line: 0, message))
      if errors.count >= Self.mostErrors { throw EndOfReading() }
    }
  }
}
