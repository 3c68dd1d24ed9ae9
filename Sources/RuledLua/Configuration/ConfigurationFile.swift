import CLuaBridge
package import RuledCore
import RuledJSON

/// The configuration file: a Lua file whose globals are the values.
///
/// It is evaluated in the sandbox in which rules run.
package enum ConfigurationFile {
  /// Reads and checks the file at `path`.
  ///
  /// - Throws: all errors in it, each with file and line.
  package static func load(_ path: String) throws(ConfigurationFileError) -> Configuration {
    let text: [UInt8]
    do throws(RegularFile.Refusal) { text = try RegularFile.read(path, limit: Limits.sourceFileBytes) } catch {
      throw ConfigurationFileError([LoadError(file: path, line: 0, error.description)])
    }
    return try evaluate(ByteOrderMark.without(text), path: path)
  }

  /// The line of the file at `path` that assigns the member at `key`, or a line near it; 0 when it is not found.
  package static func line(of key: [String], in path: String) -> Int {
    let text = try? RegularFile.read(path, limit: Limits.sourceFileBytes)
    return text.map { ConfigurationText($0).line(of: key, endingAt: 0) } ?? 0
  }

  /// Refuses a file that returns its values, as some programs want it, for nobody would read them.
  private static func checkReturns(nothing node: SyntaxNode, _ path: String) throws(LoadError) {
    if node.kind == .function { return }
    if node.kind == .returnStatement, node.children.contains(where: { !$0.children.isEmpty }) {
      throw LoadError(
        file: path, line: node.line,
        "what a configuration returns is not read: write its values as globals, as in socket = \"/run/ruled/ruled.sock\""
      )
    }
    for child in node.children { try checkReturns(nothing: child, path) }
  }

  /// Evaluates and checks a configuration's text; messages name it `path`.
  package static func evaluate(_ text: [UInt8], path: String) throws(ConfigurationFileError) -> Configuration {
    do throws(LoadError) {
      try SourceFile(path: path, text: text).checkLevels()
      if let tree = try? SyntaxTree(parsing: text) { try checkReturns(nothing: tree.root, path) }
    } catch { throw ConfigurationFileError([error]) }
    let worker = LuaWorker()
    var host = rb_host(call: nil, find: nil, declare: nil)
    guard let vm = rb_vm_new(worker.handle, &host, nil) else {
      throw ConfigurationFileError([LoadError(file: path, line: 0, "there is no memory to evaluate it")])
    }
    defer { rb_vm_free(vm) }
    var budget = Budget.loading.native
    let status = text.withView { text in
      path.withSlice { path in rb_configure(vm, rb_slice(text), path, &budget) }
    }
    guard status == RB_OK else {
      let failure = rb_failure_of(vm)
      throw ConfigurationFileError([LoadError(file: path, line: Int(failure.line), failure.message.text)])
    }
    guard let result = try? JSONValue(parsing: rb_result(vm).raw), let values = result["values"] else {
      throw ConfigurationFileError([LoadError(file: path, line: 0, "it can't be read as values")])
    }
    switch Configuration.decode(values) {
    case .success(let configuration): return configuration
    case .failure(let found):
      let source = ConfigurationText(text)
      throw ConfigurationFileError(
        found.errors.map { error in
          let line = Int(error.path.first.flatMap { result["lines"]?[$0]?.intValue } ?? 0)
          return LoadError(file: path, line: source.line(of: error.path, endingAt: line), error.description)
        })
    }
  }
}

/// The errors in a configuration file.
package struct ConfigurationFileError: Error, Sendable, CustomStringConvertible {
  /// The errors, each with file and line.
  package let errors: [LoadError]

  /// The errors of a file.
  package init(_ errors: [LoadError]) { self.errors = errors }

  /// The errors, one a line.
  package var description: String { errors.map(\.description).joined(separator: "\n") }
}

/// What is wrong with the configuration, by the rules and the host that it is for.
package struct ConfigurationProblem: Sendable {
  /// The path of its key, as in `["plugins", "greeter"]`.
  package let path: [String]
  /// What is wrong and what to do.
  package let message: String

  /// A problem at a path.
  package init(path: [String], message: String) {
    self.path = path
    self.message = message
  }
}

extension Configuration {
  /// The configured plugins that do not exist.
  package func unknownPlugins(known: [String]) -> [ConfigurationProblem] {
    plugins.keys.sorted().filter { !known.contains($0) }.map { name in
      ConfigurationProblem(
        path: ["plugins", name], message: "there is no plugin '\(name)'\(NearestName.hint(name, in: known))")
    }
  }
}

extension PluginManifest {
  /// The configured settings that the plugin does not declare, and those of another kind than it has by default.
  package var settingProblems: [ConfigurationProblem] {
    let known = settings.names.filter { !unknownSettings.contains($0) }
    let ofOtherKind = settingsOfOtherKind.map { setting in
      ConfigurationProblem(
        path: ["plugins", name, setting.name],
        message: "the setting '\(setting.name)' of plugin '\(name)' must be \(setting.kind), as it is by default")
    }
    return ofOtherKind
      + unknownSettings.map { setting in
        ConfigurationProblem(
          path: ["plugins", name, setting],
          message: "plugin '\(name)' has no setting '\(setting)'\(NearestName.hint(setting, in: known))")
      }
  }
}

/// The text of a configuration file, to find the lines of keys in it.
struct ConfigurationText {
  private let lines: [[UInt8]]

  init(_ text: [UInt8]) {
    lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
  }

  /// The line that sets the last member of `path`, or a line near it.
  ///
  /// - Parameters:
  ///   - path: the names of the members, from the global down.
  ///   - last: the line on which the assignment of the global ends, 0 when it is not known.
  /// - Returns: the line; `last` when the global is not found.
  func line(of path: [String], endingAt last: Int) -> Int {
    guard let first = path.first, let start = assignment(of: Array(first.utf8), endingAt: last) else { return last }
    var position = start
    for name in path.dropFirst() {
      guard let found = find(Array(name.utf8), from: position) else { break }
      position = found
    }
    return position.line
  }

  /// The last assignment of a global up to a line.
  ///
  /// One at the beginning of its line is preferred to an indented one.
  private func assignment(of name: [UInt8], endingAt last: Int) -> (line: Int, column: Int)? {
    var indented: (line: Int, column: Int)?
    for line in stride(from: last > 0 ? min(last, lines.count) : lines.count, to: 0, by: -1) {
      guard let column = Self.assignment(of: name, in: lines[line - 1], from: 0) else { continue }
      if lines[line - 1].starts(with: name) { return (line, column) }
      indented = indented ?? (line, column)
    }
    return indented
  }

  private func find(_ name: [UInt8], from start: (line: Int, column: Int)) -> (line: Int, column: Int)? {
    guard !name.isEmpty, start.line <= lines.count else { return nil }
    for line in start.line...lines.count {
      let first = line == start.line ? start.column : 0
      if let column = Self.assignment(of: name, in: lines[line - 1], from: first) { return (line, column) }
    }
    return nil
  }

  /// The column after `name` where `=` follows it, as in `name =` or `["name"] =`; nil when there is none.
  private static func assignment(of name: [UInt8], in line: [UInt8], from first: Int) -> Int? {
    var start = first
    while start + name.count <= line.count {
      defer { start += 1 }
      if line[start...].starts(with: "--".utf8) { return nil }
      guard line[start...].starts(with: name), start == 0 || !isWord(line[start - 1]) else { continue }
      var end = start + name.count
      let after = end
      while end < line.count, " \t\"']".utf8.contains(line[end]) { end += 1 }
      if end < line.count, line[end] == UInt8(ascii: "="), !line[(end + 1)...].starts(with: "=".utf8) { return after }
    }
    return nil
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
      || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
}
