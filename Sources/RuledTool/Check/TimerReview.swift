internal import RuledCore
internal import RuledLua

/// Finds timers that a plugin cancels or asks for, and never sets.
enum TimerReview {
  private static let setters: Set<String> = ["timer.set", "timer.every"]
  private static let askers: Set<String> = ["timer.cancel", "timer.due"]

  /// What is wrong in the plugin's files.
  static func findings(_ files: [(file: SourceFile, tree: SyntaxTree)]) -> [Finding] {
    var names: Set<String> = [], beginnings: [String] = []
    var asked: [(name: String, function: String, file: SourceFile, node: SyntaxNode)] = []
    for (file, tree) in files {
      tree.root.forEach { node in
        guard node.kind == .call, let function = CallReview.hostName(node.children[0]) else { return }
        if setters.contains(function) {
          guard let name = node.children[1].children.first else { return }
          if let text = name.stringValue { names.insert(text) } else { beginnings.append(beginning(of: name)) }
        } else if askers.contains(function), let name = node.children[1].children.first, let text = name.stringValue {
          asked.append((text, function, file, name))
        }
      }
    }
    return asked.compactMap { ask in
      guard !names.contains(ask.name), !beginnings.contains(where: { ask.name.hasPrefix($0) }) else { return nil }
      let near = NearestName.find(ask.name, in: names.sorted())
      return Finding(
        file: ask.file.path, line: ask.node.line,
        message:
          "\(ask.function) of '\(ask.name)', which nothing sets\(NearestName.hint(ask.name, in: names.sorted()))",
        code: .unknownName,
        fix: near.flatMap { isOneEdit(ask.name, $0) ? Finding.Fix(range: ask.node.unquotedRange, text: $0) : nil })
    }
  }

  /// The text that a computed name begins with.
  private static func beginning(of name: SyntaxNode) -> String {
    if name.kind == .binary, name.text == ".." { return beginning(of: name.children[0]) }
    return name.stringValue ?? ""
  }
}
