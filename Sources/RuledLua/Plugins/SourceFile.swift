import RuledCore

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

  /// Refuses, with the line, errors that Lua itself does not refuse or not explain: a text that is nested too deep, operators of other languages, and
  /// an invalid pattern.
  func check() throws(LoadError) {
    switch functions.read(text) {
    case .failure(let error):
      guard error.isTooDeep || error.hint != nil else { return }
      throw LoadError(file: path, line: error.line, error.message + (error.hint.map { "; \($0)" } ?? ""))
    case .success(let found):
      guard let wrong = found.calls.wrongPattern else { return }
      throw LoadError(file: path, line: wrong.line, wrong.message)
    }
  }

  /// The text of the argument of `function`, `ipairs` or `pairs`, on that line; nil unless the line has exactly one call of it.
  func argument(of function: String, line: Int) -> String? {
    guard case .success(let found) = functions.read(text) else { return nil }
    return found.calls.arguments[.init(function: function, line: line)] ?? nil
  }

  /// The calls of globals with a constant text, in their order; none in a text with an error.
  var uses: [GlobalUse] { (try? functions.read(text).get())?.calls.uses ?? [] }

  /// The function that begins and ends on those lines, to be explained as a `when`; nil if there is not exactly one.
  func when(from first: Int, to last: Int) -> WhenText? {
    guard case .success(let found) = functions.read(text) else { return nil }
    return found.whens[SourceFunctions.Lines(first: first, last: last)]
  }

  /// Whether a name or a string of the text is that word.
  func has(word: String) -> Bool { functions.words(text).contains(word) }

  package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}
