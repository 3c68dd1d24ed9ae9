internal import RuledLua

/// Finds the possible changes of a file: operators, constants and branches, in the order of the text.
struct MutantFinder {
  /// For each operator its replacement.
  private static let operators = [
    "==": "~=", "~=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "and": "or", "or": "and", "+": "-", "-": "+",
    "*": "+", "/": "*", "//": "+", "%": "*", "^": "*", "&": "|", "|": "&", "~": "&", "<<": ">>", ">>": "<<",
  ]
  private static let declarations: Set<String> = [
    "plugin", "setting", "rule", "query", "web", "sink", "require", "data", "event",
  ]

  private(set) var mutants: [Mutant] = []
  private let file: SourceFile
  private let lines: LineTable

  /// Finds the changes of a file; none if it is no Lua.
  init(_ file: SourceFile) {
    self.file = file
    lines = LineTable(file.text)
    guard let tree = try? SyntaxTree(parsing: file.text) else { return }
    visit(tree.root)
  }

  private mutating func add(_ node: SyntaxNode, _ range: Range<Int>, _ replacement: String) {
    let original = String(decoding: file.text[range], as: UTF8.self)
    guard original != replacement else { return }
    let shown = original.split(separator: "\n").first.map(String.init) ?? original
    mutants.append(
      Mutant(
        file: file.path, line: lines.line(at: range.lowerBound), range: range, replacement: replacement,
        original: String(shown.prefix(60))))
  }

  private func text(_ node: SyntaxNode) -> String { String(decoding: file.text[node.range], as: UTF8.self) }

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .binary: change(binary: node)
    case .unary where node.text == "not": add(node, node.mark, "")
    case .unary where node.text == "-": add(node, node.mark, "")
    case .true: add(node, node.range, "false")
    case .false: add(node, node.range, "true")
    case .number: change(number: node)
    case .ifStatement: change(branches: node)
    case .whileLoop: add(node, node.children[0].range, "false")
    case .call where Self.isDeclaration(node): return visitDeclared(node)
    default: break
    }
    for child in node.children { visit(child) }
  }

  /// Whether a call declares something: names and types in it are no behaviour.
  private static func isDeclaration(_ node: SyntaxNode) -> Bool {
    var function = node.children[0]
    if function.kind == .call { function = function.children[0] }
    return function.globalName.map(declarations.contains) ?? false
  }

  private mutating func visitDeclared(_ node: SyntaxNode) {
    var functions: [SyntaxNode] = []
    func collect(_ node: SyntaxNode) {
      if node.kind == .function { return functions.append(node) }
      for child in node.children { collect(child) }
    }
    collect(node)
    for function in functions { visit(function) }
  }

  private mutating func change(binary node: SyntaxNode) {
    if let other = Self.operators[node.text] { add(node, node.mark, other) }
    if node.text == ".." { add(node, node.range, text(node.children[0])) }
  }

  private mutating func change(number node: SyntaxNode) {
    guard let value = Int(node.text) else { return add(node, node.range, "0") }
    add(node, node.range, value == 0 ? "1" : "\(value &+ 1)")
  }

  private mutating func change(branches node: SyntaxNode) {
    for index in stride(from: 0, to: node.children.count - 1, by: 2) {
      let condition = node.children[index]
      add(condition, condition.range, "true")
      add(condition, condition.range, "false")
    }
  }
}
