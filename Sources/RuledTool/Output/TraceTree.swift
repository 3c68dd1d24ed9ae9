package import RuledCore

/// Draws which rules fired on an event, which did not, and why.
package struct TraceTree {
  private let outcome: JSONValue
  private let style: Style
  private let failures: [ReportedFailure]

  /// The tree of an outcome that carries a trace.
  package init(_ outcome: JSONValue, style: Style) {
    self.outcome = outcome
    self.style = style
    failures = (outcome.member("failures")?.arrayValue ?? []).map(ReportedFailure.init)
  }

  /// The tree as text; `type` names the event where the trace does not.
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
    ].compactMap { $0 }
    if let shadowed = entry.member("shadowed").map(Self.shadowed), !shadowed.isEmpty {
      children.append(TreeNode(style.yellow("too late: \(shadowed.printable)")))
    }
    guard let failure else {
      return TreeNode("\(style.green("●")) \(rule)\(time)" + (reason.map { ": \($0)" } ?? ""), children)
    }
    children.append(TreeNode(style.red("\(failure.message.after(place: failure.place)) (\(failure.kind))".printable)))
    return TreeNode("\(style.red("✗ \(rule)"))\(time)", children)
  }

  private func list(_ label: String, _ value: JSONValue?) -> TreeNode? {
    guard let items = value?.arrayValue, !items.isEmpty else { return nil }
    return TreeNode("\(label) \(items.map(\.brief.printable).joined(separator: ", "))")
  }

  /// Which decisions came too late and behind what: a map from key to rule, or a list of either.
  private static func shadowed(_ value: JSONValue) -> String {
    if let members = value.objectValue {
      if let key = members.first(where: { $0.name == "key" })?.value {
        let others = members.filter { $0.name != "key" }.map(\.value.brief)
        return others.isEmpty ? key.brief : "\(key.brief) (behind \(others.joined(separator: ", ")))"
      }
      return members.map { "\($0.name) (behind \($0.value.brief))" }.joined(separator: ", ")
    }
    return (value.arrayValue ?? [value]).map { $0.objectValue == nil ? $0.brief : shadowed($0) }.joined(separator: ", ")
  }
}
