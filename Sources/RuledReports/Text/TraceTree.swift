package import RuledCore

/// Draws which rules fired on an event, which did not, and why; below a rule, its raised events.
package struct TraceTree {
  private struct Event {
    let type: String
    /// The rule that raised it, nil for the event that was sent.
    let cause: JSONValue?
    var entries: [JSONValue] = []
  }

  private let outcome: JSONValue
  private let style: Style
  private let failures: [ReportedFailure]
  private let showsAll: Bool
  private let followed: [String: TreeNode]

  /// The tree of an outcome that has a trace.
  ///
  /// Where no rule listens to the event, `all` shows the rules, each with the types that it listens to. `followed` has the trees of the
  /// messages and timers that followed, by their ids.
  package init(_ outcome: JSONValue, style: Style, all: Bool = false, followed: [String: TreeNode] = [:]) {
    self.outcome = outcome
    showsAll = all
    self.style = style
    self.followed = followed
    failures = outcome.elements("failures").map(ReportedFailure.init)
  }

  /// The tree as text; the trace does not name the `type` of the event itself.
  package func text(type: String) -> String { nodes(type: type).map { $0.text(style) }.joined() }

  /// The tree; events whose cause the trace does not name stand beside it.
  package func nodes(type: String) -> [TreeNode] {
    let trace = outcome.elements("trace")
    guard !trace.isEmpty else {
      let reason = outcome == .null ? "the replay does not have this event" : "no rule listens to this event"
      return [TreeNode("\(type.printable): \(reason)")]
    }
    var events: [Event] = []
    for entry in trace {
      let type = entry.member("event")?.stringValue ?? type
      let cause = entry.member("cause")
      let known = events.lastIndex { $0.type == type && $0.cause == cause }
      if known == nil { events.append(Event(type: type, cause: cause)) }
      events[known ?? events.count - 1].entries.append(entry)
    }
    var nodes: [TreeNode] = []
    while !events.isEmpty {
      let event = events.removeFirst()
      nodes.append(TreeNode(style.bold(event.type.printable), plugins(of: event, raised: &events)))
    }
    return nodes
  }

  /// The plugins with the rules that were considered on an event; takes the events that they raised out of `raised`.
  private func plugins(of event: Event, raised: inout [Event]) -> [TreeNode] {
    var nodes: [(name: String, node: TreeNode)] = []
    let isUnheard = event.entries.allSatisfy { Self.listensToOthers($0) || $0.member("rule")?.stringValue == nil }
    for entry in event.entries {
      if !showsAll, Self.listensToOthers(entry) { continue }
      let plugin = entry.member("plugin")?.stringValue ?? "?"
      if nodes.last?.name != plugin { nodes.append((plugin, TreeNode(style.cyan(plugin.printable)))) }
      let node = node(entry, raised: &raised)
      nodes[nodes.count - 1].node.children.append(node)
    }
    return (isUnheard ? [unheard(event)] : []) + nodes.map(\.node)
  }

  /// Says that no rule listens to an event's type, with the nearest type that rules listen to.
  private func unheard(_ event: Event) -> TreeNode {
    let types = event.entries.flatMap { $0.elements("on") }.compactMap(\.stringValue).filter { !$0.hasSuffix("*") }
    let hint = NearestName.find(type: event.type, in: types).map { "; did you mean '\($0)'?" } ?? ""
    return TreeNode(style.yellow("no rule listens to '\(event.type)'\(hint)".printable))
  }

  private static func listensToOthers(_ entry: JSONValue) -> Bool {
    entry.member("fired")?.boolValue != true && entry.member("reason")?.stringValue?.hasPrefix("listens to ") == true
  }

  // MARK: Rules

  private func node(_ entry: JSONValue, raised: inout [Event]) -> TreeNode {
    let noRule = entry.member("migration") != nil ? "state" : "all rules"
    let rule = (entry.member("rule")?.stringValue ?? noRule).printable
    let reason = entry.member("reason").map { $0.brief.printable }
    let failure = failures.first { $0.plugin == entry.member("plugin")?.stringValue && $0.rule == rule }
    let time = entry.member("micros")?.doubleValue.map { "  " + style.dim(Figures.micros($0)) } ?? ""
    guard entry.member("fired")?.boolValue ?? false else {
      let condition = entry.member("condition")
      let children = [
        condition.flatMap { list("with", $0.member("values").map(Self.pairs)) },
        list("reads", paths(of: entry, "reads")),
      ].compactMap { $0 }
      return TreeNode(
        style.dim("○ \(rule)") + (reason.map { ": \($0)" } ?? "") + (condition.map(text(of:)) ?? ""), children)
    }
    let head = [
      list("reads", paths(of: entry, "reads")), list("writes", paths(of: entry, "writes")),
      list("decides", entry.member("decisions")), list("emits", entry.member("effects")),
    ]
    let tail = ["publishes", "topics", "forgets", "counts", "places", "once"].map { list($0, entry.member($0)) }
    var children = head.compactMap { $0 } + raises(of: entry, &raised) + consequences(of: entry)
    children += (tail + [shadowed(entry.member("shadowed"))]).compactMap { $0 }
    guard let failure else {
      return TreeNode("\(style.green("●")) \(rule)\(time)" + (reason.map { ": \($0)" } ?? ""), children)
    }
    children.append(TreeNode(style.red(failure.messageAndKind.printable)))
    return TreeNode("\(style.red("✗ \(rule)"))\(time)", children)
  }

  /// The operand of a `when` that was false, with its place.
  private func text(of condition: JSONValue) -> String {
    let location = "\(condition.word("file")):\(condition.word("line"))"
    return ": \(condition.word("text").printable)  \(style.dim(location.printable))"
  }

  /// The paths that a rule read or wrote; many elements of one list are one item, with their number.
  ///
  /// Those that it read have the values that the trace gives.
  private func paths(of entry: JSONValue, _ member: String) -> JSONValue? {
    guard let paths = entry.member(member)?.arrayValue?.map(\.brief) else { return nil }
    let values = member == "reads" ? entry.member("values") : nil
    var elements: [Substring: Set<Substring>] = [:]
    for path in paths {
      guard let (list, element) = Self.element(path), values?[String(element)] != JSONValue.null else { continue }
      elements[list, default: []].insert(element)
    }
    let long = elements.filter { $0.value.count > Self.listedElements }
    var told: Set<Substring> = []
    return .array(
      paths.compactMap { path in
        let list = Self.element(path)?.list ?? path[...]
        guard let found = long[list] else { return .string(values?[path].map { "\(path) = \($0.text)" } ?? path) }
        return told.insert(list).inserted ? .string("\(list): \(found.count) elements") : nil
      })
  }

  private static let listedElements = 4

  /// The outermost list on a path such as `state.list[1].name`, and the path of its element.
  private static func element(_ path: String) -> (list: Substring, element: Substring)? {
    guard let open = path.firstIndex(of: "["), let close = path[open...].firstIndex(of: "]") else { return nil }
    return (path[..<open], path[...close])
  }

  private static func pairs(_ values: JSONValue) -> JSONValue {
    .array((values.objectValue?.members ?? []).map { .string("\($0.name) = \($0.value.text)") })
  }

  /// The events that a rule raised, each with the rules that were considered on it.
  private func raises(of entry: JSONValue, _ raised: inout [Event]) -> [TreeNode] {
    var alone: [JSONValue] = []
    var nodes: [TreeNode] = []
    for type in entry.elements("raised") {
      let index = raised.firstIndex { event in
        event.type == type.stringValue && event.cause?["plugin"] == entry.member("plugin")
          && event.cause?["rule"] == entry.member("rule")
      }
      guard let index else {
        alone.append(type)
        continue
      }
      let event = raised.remove(at: index)
      nodes.append(TreeNode("raises \(style.bold(event.type.printable))", plugins(of: event, raised: &raised)))
    }
    return [list("raises", .array(alone))].compactMap { $0 } + nodes
  }

  /// Messages and timers, with the trees of those that were followed.
  private func consequences(of entry: JSONValue) -> [TreeNode] {
    let nodes = entry.elements("follows").compactMap { event in
      event.member("id")?.stringValue.flatMap { followed[$0] }
    }
    guard nodes.isEmpty else { return nodes }
    return [list("sends", entry.member("sends")), list("timers", entry.member("timers"))].compactMap { $0 }
  }

  private func list(_ label: String, _ value: JSONValue?) -> TreeNode? {
    guard let items = value?.arrayValue, !items.isEmpty else { return nil }
    return TreeNode("\(label) \(items.map(\.brief.printable).joined(separator: ", "))")
  }

  /// Decisions that were ignored, as another rule had decided their keys before: `[{key, by}]`.
  private func shadowed(_ value: JSONValue?) -> TreeNode? {
    guard let items = value?.arrayValue, !items.isEmpty else { return nil }
    let text = items.map { "\($0.word("key")) (decided by \($0.word("by")))" }
    return TreeNode(style.yellow("too late: \(text.joined(separator: ", ").printable)"))
  }
}
