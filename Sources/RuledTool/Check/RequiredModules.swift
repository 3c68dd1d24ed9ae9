internal import RuledLua

/// The modules that the files of a plugin may require.
struct RequiredModules {
  struct Module {
    let file: SourceFile
    let tree: SyntaxTree
    let values: FileValues
    let exports: ModuleExports?
  }

  private var all: [String: Module] = [:]
  private var library: [String: Module] = [:]

  /// The files begin with those of the library: a plugin's own module is found before one of the library, but not by the library.
  init(_ reviews: [SourceReview]) {
    for review in reviews {
      let name = String(review.file.name.dropLast(".lua".count))
      let module = Module(
        file: review.file, tree: review.tree, values: review.variables,
        exports: ModuleExports(review.file, review.tree))
      all[name] = module
      if RulesFacts.isOfLibrary(review.file) { library[name] = module }
    }
  }

  /// The module that a file requires by that name.
  func module(_ name: String, for file: SourceFile) -> Module? {
    (RulesFacts.isOfLibrary(file) ? library : all)[name]
  }

  /// The function that an expression of a module is, or that a call with a colon calls, and the module that has it.
  func function(_ node: SyntaxNode, in module: Module) -> (body: SyntaxNode, module: Module)? {
    let values = module.values
    let member = node.kind == .methodCall ? (node.children[0], node.text) : values.member(of: node)
    guard let (table, name) = member else { return values.value(node, .function).map { ($0, module) } }
    if let body = values.function(name, of: table) { return (body, module) }
    guard let required = values.module(of: table), let other = self.module(required, for: module.file) else {
      return nil
    }
    return other.values.result(name).map { ($0, other) }
  }
}
