package import RuledCore
package import RuledLua

/// Why a rules folder does not load: all errors in it.
package struct ReloadError: Error, Sendable {
  package let errors: [LoadError]

  package init(_ errors: [LoadError]) { self.errors = errors }

  /// The bad settings of a configuration, for which rules can't come into force while others serve; nil if there are none.
  ///
  /// `file` is the configuration's, if it is known.
  package init?(_ badSettings: [ConfigurationProblem], in file: String?) {
    guard !badSettings.isEmpty else { return nil }
    errors = badSettings.map { problem in
      let line = file.map { ConfigurationFile.line(of: problem.path, in: $0) } ?? 0
      return LoadError(file: file ?? "", line: line, problem.message)
    }
  }

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

  package var requestError: RequestError {
    let first = errors.first.map(\.description) ?? "no reason is known"
    let more = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
    return RequestError(
      .reloadFailed, "the rules do not load, the old ones keep serving: \(first)\(more)",
      details: ["errors": json])
  }
}
