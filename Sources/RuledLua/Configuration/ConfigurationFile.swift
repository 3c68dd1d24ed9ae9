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
    return try parse(ByteOrderMark.without(text), path: path)
  }

  /// The line of the file at `path` that assigns the member at `key`, or a line near it; 0 when it is not found.
  package static func line(of key: [String], in path: String) -> Int {
    let text = try? RegularFile.read(path, limit: Limits.sourceFileBytes)
    return text.map { ConfigurationLines(ByteOrderMark.without($0)).line(of: key, endingAt: 0) } ?? 0
  }

  /// Refuses a file that returns its values, as some programs want it, or that may end before its last line: nobody would read the values, or the
  /// lines after that.
  private static func checkRunsToEnd(_ node: SyntaxNode, of root: SyntaxNode, _ path: String) throws(LoadError) {
    switch node.kind {
    case .function: return
    case .returnStatement where node.children.contains { !$0.children.isEmpty }:
      throw LoadError(
        file: path, line: node.line,
        "what a configuration returns is not read: write its values as globals, as in socket = \"/run/ruled/ruled.sock\""
      )
    case .returnStatement where root.children.last?.range != node.range,
      .gotoStatement where root.children.contains { $0.kind == .label && $0.text == node.text }:
      throw LoadError(
        file: path, line: node.line,
        "the configuration would end here, and the values after this line would not be read: put what depends on a condition into if … end"
      )
    default: for child in node.children { try checkRunsToEnd(child, of: root, path) }
    }
  }

  /// Refuses every mention of the table of the globals: what takes its place, or changes it past its metatable, leaves values unread.
  private static func checkEnvironment(_ root: SyntaxNode, _ path: String) throws(LoadError) {
    var line: Int?
    root.forEach { node in if node.kind == .name, node.text == "_ENV" { line = line ?? node.line } }
    guard let line else { return }
    throw LoadError(
      file: path, line: line, "'_ENV' is not offered to a configuration: write its values as globals, without _ENV")
  }

  /// Refuses a local of the file that has the name of a key.
  private static func checkLocals(_ root: SyntaxNode, _ path: String) throws(LoadError) {
    for variable in root.children.filter({ $0.kind == .local }).flatMap(\.children[0].children) {
      guard Configuration.keys.contains(variable.text) else { continue }
      throw LoadError(
        file: path, line: variable.line,
        "what the local '\(variable.text)' holds is not read: leave out local")
    }
  }

  /// Evaluates and checks a configuration's text; messages name it `path`.
  package static func parse(_ text: [UInt8], path: String) throws(ConfigurationFileError) -> Configuration {
    do throws(LoadError) {
      try SourceFile(path: path, text: text).check()
      if let root = (try? SyntaxTree(parsing: text))?.root {
        try checkRunsToEnd(root, of: root, path)
        try checkEnvironment(root, path)
        try checkLocals(root, path)
      }
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
      let message = failure.message.text, root = "configuration.values."
      guard message.hasPrefix(root) else {
        throw ConfigurationFileError([LoadError(file: path, line: Int(failure.line), message)])
      }
      let problem = message.dropFirst(root.count)
      let key = problem.prefix { $0 != " " && $0 != "[" }.split(separator: ".").map(String.init)
      throw ConfigurationFileError([
        LoadError(file: path, line: ConfigurationLines(text).line(of: key, endingAt: 0), String(problem))
      ])
    }
    guard let result = try? JSONValue(parsing: rb_result(vm).raw), let values = result["values"] else {
      throw ConfigurationFileError([LoadError(file: path, line: 0, "it can't be read as values")])
    }
    switch Configuration.decode(values) {
    case .success(let configuration): return configuration
    case .failure(let found):
      let source = ConfigurationLines(text)
      throw ConfigurationFileError(
        found.errors.map { error in
          let line = Int(error.path.first.flatMap { result["lines"]?[$0]?.intValue } ?? 0)
          return LoadError(file: path, line: source.line(of: error.path, endingAt: line), error.description)
        })
    }
  }
}

package struct ConfigurationFileError: Error, Sendable, CustomStringConvertible {
  package let errors: [LoadError]

  init(_ errors: [LoadError]) { self.errors = errors }

  package var description: String { errors.map(\.description).joined(separator: "\n") }
}
