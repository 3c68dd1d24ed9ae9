import Testing

/// Checks that the C code around Lua leads from top to bottom.
///
/// Its files share `vm.h`, which is made of the parts of all folders.
@Suite struct BridgeTests {
  @Test(arguments: [true, false])
  func `the functions that a file or folder of the bridge calls are below it`(folders: Bool) {
    var (home, used): ([Substring: String], [String: Set<Substring>]) = ([:], [:])
    let root = Repository.root + "/Sources/CLuaBridge"
    for path in Repository.files(in: root, endingIn: [".c", ".h"]) {
      let parts = path.dropFirst(root.count).split(separator: "/")
      guard parts.count == 2, parts[0] != "include" else { continue }
      let unit = folders ? String(parts[0]) : "\(parts[0])/\(parts[1].dropLast(2))"
      for line in Repository.lines(of: path) {
        used[unit, default: []].formUnion(path.hasSuffix(".c") ? Self.words(of: line) : [])
        if let name = Self.definition(in: line) { home[name] = unit }
      }
    }
    let graph = FileGraph(used.mapValues { Set($0.compactMap { home[$0] }) })
    #expect(home.count > 150)
    #expect(graph.circles.isEmpty, "\(graph.circles.map { graph.way(around: $0) })")
  }

  private static func words(of line: Substring) -> [Substring] {
    line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.filter { $0.hasPrefix("rb_") }
  }

  /// The function that a line defines.
  private static func definition(in line: Substring) -> Substring? {
    guard line.first?.isLetter == true, line.contains("("), line.contains("{") else { return nil }
    let head = line.prefix { $0 != "(" }
    return words(of: head).last { head.hasSuffix($0) }
  }
}
