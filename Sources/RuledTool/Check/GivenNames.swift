internal import RuledLua

/// The lines of a file on which members of tables get values, by the members' names.
struct GivenNames {
  private var lines: [String: [Int]] = [:]

  init(_ file: SourceFile) {
    (try? SyntaxTree(parsing: file.text))?.root.forEach { node in
      let keys: [SyntaxNode]
      switch node.kind {
      case .namedField: keys = [node.children[0]]
      case .assignment: keys = node.children[0].children.compactMap { $0.kind == .index ? $0.children[1] : nil }
      default: return
      }
      for key in keys { if let name = key.stringValue { lines[name, default: []].append(key.line) } }
    }
  }

  /// The first line, from line `first` on, that gives a member of that name a value; `first` when there is none.
  func line(of name: String, from first: Int) -> Int { lines[name]?.first { $0 >= first } ?? first }
}
