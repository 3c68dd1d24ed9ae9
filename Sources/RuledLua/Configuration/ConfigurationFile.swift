import CLuaBridge
package import RuledCore

/// The configuration: a Lua file whose assignments to globals are the values, evaluated in the sandbox that rules run in.
package enum ConfigurationFile {
  /// Reads and checks the file at `path`.
  ///
  /// - Throws: all that is wrong with it, each with file and line.
  package static func load(_ path: String) throws(ConfigurationFileError) -> Configuration {
    let text: [UInt8]
    do throws(RegularFile.Refusal) { text = try RegularFile.read(path, limit: Limits.sourceFileBytes) } catch {
      throw ConfigurationFileError([LoadError(file: path, line: 0, error.description)])
    }
    return try evaluate(text, path: path)
  }

  /// The line of the file at `path` that assigns the member at `key`, as near as its text tells; 0 when it doesn't.
  package static func line(of key: [String], in path: String) -> Int {
    let text = try? RegularFile.read(path, limit: Limits.sourceFileBytes)
    return text.map { ConfigurationText($0).line(of: key, endingAt: 0) } ?? 0
  }

  /// Checks a configuration's text; `path` is what messages call it.
  package static func evaluate(_ text: [UInt8], path: String) throws(ConfigurationFileError) -> Configuration {
    let worker = LuaWorker()
    var host = rb_host(call: nil, find: nil, declare: nil)
    guard let machine = rb_vm_new(worker.handle, &host, nil) else {
      throw ConfigurationFileError([LoadError(file: path, line: 0, "there is no memory to evaluate it")])
    }
    defer { rb_vm_free(machine) }
    var budget = Budget.loading.native
    let status = text.withUnsafeBytes { text in
      path.withSlice { path in rb_configure(machine, rb_slice(text), path, &budget) }
    }
    guard status == RB_OK else {
      let failure = rb_failure_of(machine)
      throw ConfigurationFileError([LoadError(file: path, line: Int(failure.line), failure.message.text)])
    }
    guard let result = try? JSONValue(parsing: rb_result(machine).raw), let values = result["values"] else {
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

/// What is wrong with a configuration file.
package struct ConfigurationFileError: Error, Sendable, CustomStringConvertible {
  /// Each error with its place.
  package let errors: [LoadError]

  /// The errors of a file.
  package init(_ errors: [LoadError]) { self.errors = errors }

  /// The errors, one a line.
  package var description: String { errors.map(\.description).joined(separator: "\n") }
}
