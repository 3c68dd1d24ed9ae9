import Glibc
package import RuledCore
import RuledJSON
package import RuledLua

/// Reads a rules folder: each subfolder is a plugin, and `lib` holds the shared modules.
///
/// Only regular files within the folder are read, without blocking, and no more than `Limits` allows. Links are followed within the folder. A
/// link that leaves it is an error, and so is anything but a file where a file is expected.
package enum RulesFolder {
  /// Reads the folder at `path`, which may be a link.
  ///
  /// The subfolders for which `including` is true are read as plugins; it is an error if one is none.
  package static func read(
    _ path: String, including: (_ name: String) -> Bool = { _ in true }
  ) throws(ReloadError) -> RulesSource {
    let tree: FolderTree
    do throws(RegularFile.Refusal) { tree = try FolderTree(path) } catch {
      throw ReloadError([LoadError(file: "", line: 0, "the rules folder \(path) \(error)")])
    }
    var reader = Reader(tree: tree)
    do throws(EndOfReading) {
      let plugins = try reader.plugins(including)
      if reader.errors.isEmpty { return RulesSource(plugins: plugins) }
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

  /// One reading of a folder.
  private struct Reader {
    /// How many errors are collected.
    private static let mostErrors = 100

    let tree: FolderTree
    private(set) var errors: [LoadError] = []
    private var remainingEntries = Limits.folderEntries
    private var remainingBytes = Limits.folderBytes

    init(tree: FolderTree) { self.tree = tree }

    mutating func plugins(_ including: (_ name: String) -> Bool) throws(EndOfReading) -> [PluginSource] {
      var library: [SourceFile] = []
      var folders: [(name: String, folder: FolderTree.Folder)] = []
      for name in try names(in: tree.root, "") where name.mayLead && (name.text == "lib" || including(name.text)) {
        guard case .folder(let folder)? = try entry(name.text, in: tree.root, name.text) else { continue }
        if name.text == "lib" {
          library = try files(of: folder, "lib").filter { $0.name.hasSuffix(".lua") }
        } else {
          folders.append((name.text, folder))
        }
      }
      var plugins: [PluginSource] = []
      for (name, folder) in folders {
        if let plugin = try plugin(name, folder, library) { plugins.append(plugin) }
      }
      return plugins
    }

    private mutating func plugin(
      _ name: String, _ folder: FolderTree.Folder, _ library: [SourceFile]
    ) throws(EndOfReading) -> PluginSource? {
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
        } ?? [],
        library: library)
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

/// Why a rules folder does not load: all errors in it.
package struct ReloadError: Error, Sendable {
  /// The errors, with file and line.
  package let errors: [LoadError]

  /// The errors of a folder.
  package init(_ errors: [LoadError]) { self.errors = errors }

  /// The errors as JSON, `[{file, line, message}]`.
  package var json: JSONValue {
    .array(
      errors.map { error in
        .object(["file": .string(error.file), "line": .integer(Int64(error.line)), "message": .string(error.message)])
      })
  }

  /// The errors of that JSON; nil if it has another form.
  package init?(json: JSONValue) {
    guard let list = json.arrayValue, !list.isEmpty else { return nil }
    errors = list.compactMap { error in
      guard let file = error["file"]?.stringValue, let line = error["line"]?.intValue,
        let message = error["message"]?.stringValue
      else { return nil }
      return LoadError(file: file, line: Int(line), message)
    }
    guard errors.count == list.count else { return nil }
  }

  /// The answer to a `reload` that was refused.
  package var requestError: RequestError {
    let first = errors.first.map(\.description) ?? "no reason is known"
    let more = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
    return RequestError(
      .reloadFailed, "the rules do not load, the old ones keep serving: \(first)\(more)",
      details: [.init("errors", json)])
  }
}

/// The content of a rules folder at one moment, from which a catalog is built.
package struct RulesSource: Sendable {
  /// The plugins, in order of name.
  package let plugins: [PluginSource]
  /// The name of this content: the first 16 hexadecimal digits of its hash.
  package let revision: String

  /// The content of a folder.
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
          object["hex"] = .string(Self.hex(file.text))
        }
        return .object(object)
      })
  }

  private static func decode(_ value: JSONValue?) -> [SourceFile] {
    (value?.arrayValue ?? []).compactMap { file in
      guard let path = file["path"]?.stringValue else { return nil }
      if let text = file["text"]?.stringValue { return SourceFile(path: path, text: Array(text.utf8)) }
      return (file["hex"]?.stringValue).flatMap(Self.bytes).map { SourceFile(path: path, text: $0) }
    }
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let buffer = ByteBuffer(capacity: 2 * bytes.count)
    for byte in bytes {
      buffer.append(hexDigit: byte >> 4)
      buffer.append(hexDigit: byte & 15)
    }
    return buffer.text
  }

  /// The bytes that an even number of hexadecimal digits stands for.
  private static func bytes(_ hex: String) -> [UInt8]? {
    let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count == hex.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
