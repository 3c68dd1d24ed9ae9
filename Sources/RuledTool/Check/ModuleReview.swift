internal import RuledLua

/// Finds functions of a plugin's modules that none of its files names.
enum ModuleReview {
  static func findings(_ reviews: [SourceReview], _ modules: RequiredModules) -> [Finding] {
    /// How often each member is read, and each module is used in other ways than to read a member by its name.
    var reads: [String: Int] = [:], uses: [String: Int] = [:]
    for review in reviews {
      func note(_ module: SyntaxNode, _ count: Int) {
        if let name = review.variables.module(of: module) { uses[name, default: 0] += count }
      }
      // Strings count as reads, also where they are keys that get a value; names and calls as uses, also where a member is read.
      func write(_ key: SyntaxNode?) {
        if let name = key?.stringValue { reads[name, default: 0] -= 1 }
      }
      review.tree.root.forEach { node in
        switch node.kind {
        case .string: reads[node.text, default: 0] += 1
        case .namedField: write(node.children[0])
        case .assignment: for target in node.children[0].children { write(target.children.last) }
        case .functionStatement: write(node.children[0].children.last)
        case .name, .call: note(node, 1)
        case .index where node.children[1].kind == .string: note(node.children[0], -1)
        case .methodCall:
          reads[node.text, default: 0] += 1
          note(node.children[0], -1)
        case .callStatement: note(node.children[0], -1)
        case .local:
          for (variable, value) in zip(node.children[0].children, node.children[1].children) {
            note(variable, -1)
            if value.kind == .call { note(value, -1) }
          }
        default: break
        }
      }
    }
    return reviews.map(\.file).flatMap { file -> [Finding] in
      let name = String(file.name.dropLast(".lua".count))
      guard !RulesFacts.isOfLibrary(file), uses[name] == 0, let module = modules.module(name, for: file),
        module.file.path == file.path, let exports = module.exports
      else { return [] }
      return exports.names.filter { reads[$0] == 0 && !$0.hasPrefix("_") }.compactMap(module.values.result).map {
        Finding(file, $0, .unusedLocal, "nothing calls this function of the module '\(name)'", isNote: true)
      }
    }
  }
}
