internal import RuledCore
internal import RuledLua

/// Finds settings within settings, such as `settings.caps.daily`, that a plugin does not have.
///
/// A table that is empty by default may get any members.
struct SettingReview {
  private(set) var findings: [Finding] = []

  private let file: SourceFile
  private let manifest: PluginManifest
  private var variables: [Int: (path: String, value: JSONValue)] = [:]

  init(_ file: SourceFile, _ tree: SyntaxTree, _ manifest: PluginManifest) {
    self.file = file
    self.manifest = manifest
    var assigned: Set<Int> = []
    tree.root.forEach { node in
      if node.kind == .assignment { assigned.formUnion(node.children[0].children.compactMap(\.local)) }
    }
    visit(tree.root, assigned)
  }

  private mutating func visit(_ node: SyntaxNode, _ assigned: Set<Int>) {
    if node.kind == .local {
      for (target, value) in zip(node.children[0].children, node.children[1].children) {
        if let local = target.local, !assigned.contains(local) { variables[local] = setting(value) }
      }
    }
    if node.kind == .index { review(node) }
    for child in node.children { visit(child, assigned) }
  }

  private func setting(_ node: SyntaxNode) -> (path: String, value: JSONValue)? {
    if node.globalName == "settings" { return ("settings", .object(manifest.settings)) }
    if let local = node.local { return variables[local] }
    guard node.kind == .index, let key = node.children[1].stringValue, let outer = setting(node.children[0]) else {
      return nil
    }
    return outer.value[key].map { ("\(outer.path).\(key)", $0) }
  }

  private mutating func review(_ node: SyntaxNode) {
    guard let key = node.children[1].stringValue, let outer = setting(node.children[0]), outer.path != "settings",
      let members = outer.value.objectValue, !members.isEmpty, members[key] == nil,
      !manifest.declares("\(outer.path).\(key)".split(separator: ".").dropFirst().map(String.init))
    else { return }
    let near = NearestName.find(key, in: members.names)
    findings.append(
      Finding(
        file: file.path, line: node.children[1].line,
        message: "\(outer.path) has no member '\(key)'\(NearestName.hint(key, in: members.names))",
        code: .unknownMember,
        fix: near.flatMap { isOneEdit(key, $0) ? Finding.Fix(range: node.children[1].unquotedRange, text: $0) : nil }))
  }
}
