/// A line with lines that hang from it.
package struct TreeNode: Equatable {
  /// The line.
  package var text: String
  /// What hangs from it.
  package var children: [TreeNode]

  /// A line with what hangs from it.
  package init(_ text: String, _ children: [TreeNode] = []) {
    self.text = text
    self.children = children
  }

  /// The tree as text.
  package func text(_ style: Style) -> String {
    var lines = [text]
    draw(children, behind: "", style, into: &lines)
    return lines.joined(separator: "\n") + "\n"
  }

  private func draw(_ nodes: [TreeNode], behind prefix: String, _ style: Style, into lines: inout [String]) {
    for (index, node) in nodes.enumerated() {
      let isLast = index == nodes.count - 1
      lines.append(style.dim(prefix + (isLast ? "└─ " : "├─ ")) + node.text)
      draw(node.children, behind: prefix + (isLast ? "   " : "│  "), style, into: &lines)
    }
  }
}
