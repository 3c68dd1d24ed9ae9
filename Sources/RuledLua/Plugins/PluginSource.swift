import RuledCore

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
  package func module(_ name: String) -> SourceFile? {
    let file = name + ".lua"
    return modules.first { $0.name == file } ?? library.first { $0.name == file }
  }
}

/// One file of a rules folder, as it was read.
package struct SourceFile: Sendable, Equatable {
  /// The path relative to the rules folder, as in `greeter/plugin.lua`.
  package let path: String
  package let text: [UInt8]
  private let functions = SourceFunctions()

  /// A file.
  ///
  /// A byte order mark at its start, which some editors write, is left out.
  package init(path: String, text: [UInt8]) {
    self.path = path
    self.text = ByteOrderMark.without(text)
  }

  package static func == (left: Self, right: Self) -> Bool { left.path == right.path && left.text == right.text }

  /// Refuses a Lua text that is nested too deep, with the line.
  package func checkLevels() throws(LoadError) {
    guard case .failure(let error) = functions.read(text), error.isTooDeep else { return }
    throw LoadError(file: path, line: error.line, error.message)
  }

  /// The function that begins and ends on those lines, to be explained as a `when`; nil if there is not exactly one.
  func when(from first: Int, to last: Int) -> WhenText? {
    guard case .success(let found) = functions.read(text) else { return nil }
    return found[SourceFunctions.Lines(first: first, last: last)]
  }

  /// The last part of the path.
  package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// Why a plugin or a configuration does not load, with file and line.
package struct LoadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file relative to the rules folder; empty when it is no file's fault.
  package var file: String
  /// The line, 0 when it is not known.
  package var line: Int
  /// What is wrong and how to correct it.
  package var message: String

  package init(file: String, line: Int, _ message: String) {
    self.file = file
    self.line = line
    self.message = message
  }

  /// The error as `file:line: message`.
  package var description: String {
    if file.isEmpty { return message }
    return line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)"
  }
}
