package import RuledCore

/// Draws which rules fired on an event, which did not, and why.
package struct TraceTree {
  private let outcome: JSONValue
  private let style: Style
  private let failures: [ReportedFailure]
  private let showsAll: Bool

  /// The tree of an outcome that has a trace.
  ///
  /// Rules that listen to other types are counted in one line, unless `all` are to be shown.
  package init(_ outcome: JSONValue, style: Style, all: Bool = false) {
    self.outcome = outcome
    showsAll = all
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
    var others: [Int] = []
    for entry in trace {
      let event = Self.event(of: entry) ?? type
      let plugin = entry.member("plugin")?.stringValue ?? "?"
      if trees.last?.event != event {
        trees.append((event, []))
        others.append(0)
      }
      let tree = trees.count - 1
      if !showsAll, Self.listensToOthers(entry) {
        others[tree] += 1
        continue
      }
      if trees[tree].plugins.last?.name != plugin { trees[tree].plugins.append((plugin, [])) }
      trees[tree].plugins[trees[tree].plugins.count - 1].rules.append(entry)
    }
    return zip(trees, others).map { tree, others in
      let plugins = tree.plugins.map { TreeNode(style.cyan($0.name.printable), $0.rules.map(node)) }
      let count = others == 1 ? "1 rule listens" : "\(others) rules listen"
      let line = others > 0 ? [TreeNode(style.dim("\(count) to other types"))] : []
      return TreeNode(style.bold(tree.event.printable), plugins + line).text(style)
    }.joined()
  }

  private static func listensToOthers(_ entry: JSONValue) -> Bool {
    entry.member("fired")?.boolValue != true && entry.member("reason")?.stringValue?.hasPrefix("listens to ") == true
  }

  private static func event(of entry: JSONValue) -> String? {
    guard let event = entry.member("event") else { return nil }
    return event.stringValue ?? event.member("type")?.stringValue
  }

  private func node(_ entry: JSONValue) -> TreeNode {
    let rule = (entry.member("rule")?.stringValue ?? "all rules").printable
    let reason = entry.member("reason").map { $0.brief.printable }
    let failure = failures.first { $0.plugin == entry.member("plugin")?.stringValue && $0.rule == rule }
    let time = entry.member("micros")?.doubleValue.map { "  " + style.dim(Figures.micros($0)) } ?? ""
    guard entry.member("fired")?.boolValue ?? false else {
      let reads = [list("reads", reads(of: entry))].compactMap { $0 }
      return TreeNode(style.dim("○ \(rule)") + (reason.map { ": \($0)" } ?? ""), reads)
    }
    var children = [
      list("reads", reads(of: entry)), list("writes", entry.member("writes")),
      list("decides", entry.member("decisions")), list("emits", entry.member("effects")),
      list("raises", entry.member("raised")), list("sends", entry.member("sends")),
      list("timers", entry.member("timers")),
      list("counts", entry.member("counts")), list("once", entry.member("once")),
      shadowed(entry.member("shadowed")),
    ].compactMap { $0 }
    guard let failure else {
      return TreeNode("\(style.green("●")) \(rule)\(time)" + (reason.map { ": \($0)" } ?? ""), children)
    }
    children.append(TreeNode(style.red(failure.messageAndKind.printable)))
    return TreeNode("\(style.red("✗ \(rule)"))\(time)", children)
  }

  /// The paths that a rule read, with the values that the trace gives.
  private func reads(of entry: JSONValue) -> JSONValue? {
    guard let paths = entry.member("reads")?.arrayValue else { return nil }
    let values = entry.member("values")
    return .array(
      paths.map { path in
        let name = path.brief
        return .string(values?[name].map { "\(name) = \($0.text)" } ?? name)
      })
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
