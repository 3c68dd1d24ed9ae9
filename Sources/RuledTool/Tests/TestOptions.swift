internal import Glibc
internal import RuledCore
internal import RuledLua

struct TestOptions: Sendable {
  var root: String
  /// A pattern that the test's name, its plugin or its file has to contain; nil for all.
  var filter: String?
  var measuresCoverage = false
  var updatesSnapshots = false
  /// The seed of properties.
  var seed: UInt32 = 1
  var jobs = 1

  /// Whether the tests are for a file: not for rules that only tests have, nor for the installed library.
  func tests(_ file: SourceFile) -> Bool {
    !file.path.hasPrefix("lib/tests/") && access("\(root)/\(file.path)", F_OK) == 0
  }

  func selects(_ test: PluginManifest.Handler, of plugin: String) -> Bool {
    guard let filter else { return true }
    let pattern = GlobPattern("*\(filter.lowercased())*")
    return [test.name, plugin, test.file].contains { pattern.matches($0.lowercased()) }
  }
}
