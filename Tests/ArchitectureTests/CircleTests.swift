import Testing

/// Checks that the files of a module lead from top to bottom: those of a circle can only be understood together.
@Suite struct CircleTests {
  /// The most files of a circle, all in one folder.
  static let most = 12
  /// Modules that have larger circles, or some over several folders, and how many files these have; they may only become fewer.
  static let exceptions = [
    "RuledEngine": 25, "RuledLua": 3, "RuledTool": 50,
  ]

  @Test(arguments: ImportTests.allowed.keys.sorted())
  func `no circle of files goes over several folders, or over more than twelve files of one`(module: String) {
    let root = "\(Repository.root)/Sources/\(module)/"
    let graph = FileGraph(
      Repository.files(in: String(root.dropLast()), endingIn: [".swift"]).sorted()
        .map { (String($0.dropFirst(root.count).dropLast(".swift".count)), Repository.text(of: $0)) })
    let wide = graph.circles.filter { $0.count > Self.most || graph.folders(of: $0).count > 1 }
    let count = wide.reduce(0) { $0 + $1.count }
    let ways = wide.map { "\($0.count) files over \(graph.folders(of: $0).count) folders: \(graph.way(around: $0))" }
    if let exception = Self.exceptions[module] {
      #expect(count <= exception, "\(module) has \(ways)")
      #expect(count > 0, "\(module) is no exception any more")
    } else {
      #expect(ways.isEmpty)
    }
  }

  @Test func `a circle is found with the shortest way around it`() {
    let graph = FileGraph([
      ("Low/A", "struct A { let b: B }"), ("Low/B", "package final class B { var c: C.D? } // E"),
      ("High/C", "enum C {\n  struct E {}\n  case a(A)\n}"), ("High/D", "extension A { func d() -> String { \"E\" } }"),
      ("High/E", "protocol E: AnyObject {}"),
    ])
    #expect(graph.circles == [[0, 1, 2]])
    #expect(graph.folders(of: [0, 1, 2]) == ["Low", "High"])
    #expect(graph.way(around: [0, 1, 2]) == "Low/B → High/C → Low/A → Low/B")
  }
}
