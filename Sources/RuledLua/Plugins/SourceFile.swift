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

  /// Refuses a Lua text that is nested too deep, with the line.
  func checkLevels() throws(LoadError) {
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
