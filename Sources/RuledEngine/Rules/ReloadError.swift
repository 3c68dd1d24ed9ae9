package import RuledCore
package import RuledLua

/// Why a rules folder does not load: all that is wrong with it.
package struct ReloadError: Error, Sendable {
  /// What is wrong, with file and line.
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

  /// The answer to a `reload` that was refused.
  package var requestError: RequestError {
    let first = errors.first.map(\.description) ?? "no reason is known"
    let more = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
    return RequestError(
      .reloadFailed, "the rules do not load, the old ones keep serving: \(first)\(more)",
      details: [.init("errors", json)])
  }
}
