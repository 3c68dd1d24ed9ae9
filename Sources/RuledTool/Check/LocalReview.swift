internal import RuledLua

/// Finds local variables and functions of one file that nothing reads; names that begin with `_` are meant so.
enum LocalReview {
  static func findings(_ review: SourceReview) -> [Finding] {
    var declared: [SyntaxNode] = []
    /// How often each variable is named, declarations and assignments left out.
    var reads: [Int: Int] = [:]
    review.tree.root.forEach { node in
      switch node.kind {
      case .name: if let local = node.local { reads[local, default: 0] += 1 }
      case .local: declared += node.children[0].children
      case .localFunction:
        declared.append(node.children[0])
        // A function that only calls itself is called by nothing.
        let local = node.children[0].local
        node.children[1].forEach { if let local, $0.local == local { reads[local, default: 0] -= 1 } }
      case .assignment:
        for target in node.children[0].children { if let local = target.local { reads[local, default: 0] -= 1 } }
      case .functionStatement: if let local = node.children[0].local { reads[local, default: 0] -= 1 }
      default: break
      }
    }
    return declared.compactMap { node in
      // The declaration names it, too.
      guard let local = node.local, reads[local, default: 0] <= 1, !node.text.hasPrefix("_") else { return nil }
      return Finding(review.file, node, .unusedLocal, "nothing reads the local '\(node.text)'", isNote: true)
    }
  }
}
