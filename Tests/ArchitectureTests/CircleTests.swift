import Testing

/// Checks that the files of a module lead from top to bottom: those of a circle can only be understood together.
@Suite struct CircleTests {
  /// The most files of a circle, all in one folder.
  static let most = 12

  /// The files of a module: path without extension, and text.
  private static func files(of module: String) -> [(path: String, text: String)] {
    let root = "\(Repository.root)/Sources/\(module)/"
    return Repository.files(in: String(root.dropLast()), endingIn: [".swift"]).sorted().map {
      (String($0.dropFirst(root.count).dropLast(".swift".count)), Repository.text(of: $0))
    }
  }

  @Test(arguments: ImportTests.allowed.keys.sorted())
  func `no circle of files goes over several folders, or over more than twelve files of one`(module: String) {
    let graph = FileGraph(Self.files(of: module))
    let wide = graph.circles.filter { $0.count > Self.most || graph.folders(of: $0).count > 1 }
    let ways = wide.map { "\($0.count) files over \(graph.folders(of: $0).count) folders: \(graph.way(around: $0))" }
    #expect(ways.isEmpty)
  }

  @Test(arguments: ["RuledCluster", "RuledDelivery", "RuledIO", "RuledReports", "RuledServing"])
  func `the folders of a module lead from top to bottom`(module: String) {
    let folders = Dictionary(grouping: Self.files(of: module)) { $0.path.split(separator: "/").dropLast().first ?? "." }
    let graph = FileGraph(
      folders.sorted { $0.key < $1.key }.map { (String($0.key), $0.value.map(\.text).joined(separator: "\n")) })
    #expect(graph.circles.isEmpty, "\(graph.circles.map { graph.way(around: $0) })")
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
