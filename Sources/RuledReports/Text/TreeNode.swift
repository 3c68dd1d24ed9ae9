package struct TreeNode {
  var text: String
  package var children: [TreeNode]

  package init(_ text: String, _ children: [TreeNode] = []) {
    self.text = text
    self.children = children
  }

  package func text(_ style: Style) -> String {
    var lines = [text]
    draw(children, indent: "", style, into: &lines)
    return lines.joined(separator: "\n") + "\n"
  }

  private func draw(_ nodes: [TreeNode], indent: String, _ style: Style, into lines: inout [String]) {
    for (index, node) in nodes.enumerated() {
      let isLast = index == nodes.count - 1
      lines.append(style.dim(indent + (isLast ? "└─ " : "├─ ")) + node.text)
      draw(node.children, indent: indent + (isLast ? "   " : "│  "), style, into: &lines)
    }
  }
}
