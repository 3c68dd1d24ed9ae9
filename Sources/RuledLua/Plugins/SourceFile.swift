/// One file of a rules folder, as it was read.
package struct SourceFile: Sendable, Equatable {
  /// The path relative to the rules folder, as in `greeter/plugin.lua`.
  package let path: String
  /// What stands in it.
  package let text: [UInt8]

  /// A file with its content.
  package init(path: String, text: [UInt8]) {
    self.path = path
    self.text = text
  }

  /// The last part of the path.
  package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}
