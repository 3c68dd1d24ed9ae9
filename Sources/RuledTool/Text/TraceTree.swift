package import RuledCore

/// Draws which rules fired on an event, which did not, and why.
package struct TraceTree {
  private let outcome: JSONValue
  private let style: Style
  private let failures: [ReportedFailure]

  /// The tree of an outcome that has a trace.
  package init(_ outcome: JSONValue, style: Style) {
    self.outcome = outcome
    self.style = style
    failures = (outcome.member("failures")?.arrayValue ?? []).map(ReportedFailure.init)
  }

  /// The tree as text.
  ///
  /// - Parameter type: The type of the event; the trace names only the types of events that rules raised.
  /// - Returns: Lines.
  package func text(type: String) -> String {
    let trace = outcome.member("trace")?.arrayValue ?? []
    guard !trace.isEmpty else { return "\(type.printable): no rule listens to this event\n" }
    var trees: [(event: String, plugins: [(name: String, rules: [JSONValue])])] = []
    for entry in trace {
      let event = Self.event(of: entry) ?? type
      let plugin = entry.member("plugin")?.stringValue ?? "?"
      if trees.last?.event != event { trees.append((event, [])) }
      let tree = trees.count - 1
      if trees[tree].plugins.last?.name != plugin { trees[tree].plugins.append((plugin, [])) }
      trees[tree].plugins[trees[tree].plugins.count - 1].rules.append(entry)
    }
    return trees.map { tree in
      TreeNode(
        style.bold(tree.event.printable),
        tree.plugins.map { TreeNode(style.cyan($0.name.printable), $0.rules.map(node)) }
      ).text(style)
    }.joined()
  }

  private static func event(of entry: JSONValue) -> String? {
    guard let event = entry.member("event") else { return nil }
    return event.stringValue ?? event.member("type")?.stringValue
  }

  private func node(_ entry: JSONValue) -> TreeNode {
    let rule = (entry.member("rule")?.stringValue ?? "?").printable
    let reason = entry.member("reason").map { $0.brief.printable }
    let failure = failures.first { $0.plugin == entry.member("plugin")?.stringValue && $0.rule == rule }
    let time = entry.member("micros")?.doubleValue.map { "  " + style.dim(Figures.micros($0)) } ?? ""
    guard entry.member("fired")?.boolValue ?? false else {
      return TreeNode(style.dim("○ \(rule)") + (reason.map { ": \($0)" } ?? ""))
    }
    var children = [
      list("reads", entry.member("reads")), list("writes", entry.member("writes")),
      list("decides", entry.member("decisions")), list("emits", entry.member("effects")),
      shadowed(entry.member("shadowed")),
    ].compactMap { $0 }
    guard let failure else {
      return TreeNode("\(style.green("●")) \(rule)\(time)" + (reason.map { ": \($0)" } ?? ""), children)
    }
    children.append(TreeNode(style.red(failure.messageAndKind.printable)))
    return TreeNode("\(style.red("✗ \(rule)"))\(time)", children)
  }

  private func list(_ label: String, _ value: JSONValue?) -> TreeNode? {
    guard let items = value?.arrayValue, !items.isEmpty else { return nil }
    return TreeNode("\(label) \(items.map(\.brief.printable).joined(separator: ", "))")
  }

  /// Decisions that were ignored, as another rule had decided their keys before: `[{key, by}]`.
  private func shadowed(_ value: JSONValue?) -> TreeNode? {
    guard let items = value?.arrayValue, !items.isEmpty else { return nil }
    let text = items.map { "\($0.member("key")?.brief ?? "?") (decided by \($0.member("by")?.brief ?? "?"))" }
    return TreeNode(style.yellow("too late: \(text.joined(separator: ", ").printable)"))
  }
}

/// A line of text with lines below it.
private struct TreeNode {
  var text: String
  var children: [TreeNode]

  init(_ text: String, _ children: [TreeNode] = []) {
    self.text = text
    self.children = children
  }

  func text(_ style: Style) -> String {
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
