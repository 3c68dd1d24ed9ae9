internal import RuledLua

/// The files of a plugin under another name.
///
/// Names with the plugin's name become the copy's: counters, topics, boards, queries, and the events that the plugin makes itself. An event that
/// is kept for rules gets the copy's name before its own, so that neither plugin hears the other's. Types of events that others send stay, and so
/// do sinks.
struct PluginCopy {
  private let name: String
  private let copy: String
  /// The types that the plugin makes.
  private let made: Set<String>
  /// The names that it counts, which may be types of events, too.
  private let counted: Set<String>
  private let manifest: PluginManifest

  init(_ source: PluginSource, _ manifest: PluginManifest, as copy: String) {
    name = source.name
    self.copy = copy
    self.manifest = manifest
    var made: Set<String> = [], counted: Set<String> = []
    for tree in source.modules.compactMap({ try? SyntaxTree(parsing: $0.text) }) {
      let variables = FileValues(tree)
      tree.root.forEach { node in
        if let type = MadeEvent(node, variables)?.type.stringValue { made.insert(type) }
        if node.kind == .call, node.children[0].globalName == "count",
          let counter = node.children[1].children.first?.stringValue, counter.hasPrefix("\(source.name).")
        {
          counted.insert(counter)
        }
      }
    }
    self.made = made
    self.counted = counted
  }

  func text(of file: SourceFile) -> [UInt8] {
    guard file.name.hasSuffix(".lua"), let tree = try? SyntaxTree(parsing: file.text) else { return file.text }
    var places: Set<Int> = [], internals: Set<Int> = []
    tree.root.forEach { node in
      if node.kind == .string, isInternal(node.text) { internals.insert(node.unquotedRange.lowerBound) }
      for string in named(in: node) where string.kind == .string {
        let start = string.unquotedRange.lowerBound
        if file.text[start...].starts(with: name.utf8) { places.insert(start) }
      }
    }
    var text = file.text
    for place in places.union(internals).sorted(by: >) {
      let isNamed = places.contains(place)
      text.replaceSubrange(
        place..<place + (isNamed ? name.utf8.count : 0), with: Array((isNamed ? copy : "\(copy).").utf8))
    }
    return text
  }

  /// Whether it is a type of event that is kept for rules, and that does not bear the plugin's name.
  private func isInternal(_ text: String) -> Bool {
    !text.hasPrefix("\(name).") && manifest.events.contains { $0.isInternal && $0.type == text }
  }

  /// The strings that bear the plugin's name, itself or among its parts.
  private func named(in node: SyntaxNode) -> [SyntaxNode] {
    switch node.kind {
    case .string:
      let isOwn = node.text.hasPrefix("\(name).") || node.text.hasPrefix("\(name)/")
      return isOwn && !isOfOthers(node.text) ? [node] : []
    case .call where node.children[0].globalName == "plugin":
      let fields = node.children[1].children.first?.children ?? []
      return fields.filter { $0.kind == .namedField && $0.children[0].text == "name" }.map { $0.children[1] }
    case .call where ["count", "counters"].contains(node.children[0].globalName):
      return node.children[1].children.prefix(1).filter(isCounter)
    case .namedField where node.children[0].text == "name": return [node.children[1]].filter(isCounter)
    case .call where node.children[0].globalName == "peek": return node.children[1].children.filter(isName)
    case .methodCall: return named(inCallOf: node.text, node.children[1].children)
    case .binary where node.children.contains { $0.kind == .index && $0.children[1].stringValue == "name" }:
      return node.children.filter(isCounter)
    case .binary where node.children.contains(where: isPlugin): return node.children.filter(isName)
    case .namedField where node.children[0].text == "plugin": return [node.children[1]].filter(isName)
    case .index where isOfAll(node.children[0]): return [node.children[1]].filter(isName)
    default: return []
    }
  }

  /// The same for a method of a test's `t`.
  private func named(inCallOf method: String, _ arguments: [SyntaxNode]) -> [SyntaxNode] {
    switch method {
    case "failing", "retry", "settings": return arguments.filter(isName)
    case "given": return arguments.flatMap(keys)
    case "equal":
      if arguments.contains(where: isPlugin) { return arguments.filter(isName) }
      return arguments.contains(where: isOfAll) ? arguments.flatMap(keys) : []
    default: return []
    }
  }

  /// The keys of a table that are the plugin's name.
  private func keys(of table: SyntaxNode) -> [SyntaxNode] {
    table.kind == .table ? table.children.filter { $0.kind == .namedField }.map { $0.children[0] }.filter(isName) : []
  }

  private func isName(_ node: SyntaxNode) -> Bool { node.stringValue == name }

  private func isCounter(_ node: SyntaxNode) -> Bool { node.stringValue.map(counted.contains) ?? false }

  /// Whether it is the member that names the plugin of a failure or an effect.
  private func isPlugin(_ node: SyntaxNode) -> Bool { node.kind == .index && node.children[1].stringValue == "plugin" }

  /// Whether it is a table by plugin: the decisions of all.
  private func isOfAll(_ node: SyntaxNode) -> Bool {
    node.kind == .index && node.children[1].stringValue == "all" || node.kind == .methodCall && node.text == "decided"
  }

  /// Whether it is a type of event that the plugin hears or describes and that others send.
  private func isOfOthers(_ text: String) -> Bool {
    guard !made.contains(text) else { return false }
    return manifest.events.contains { $0.type == text }
      || manifest.rules.contains { $0.on.contains { $0 != .any && $0.matches(text) } }
  }
}
