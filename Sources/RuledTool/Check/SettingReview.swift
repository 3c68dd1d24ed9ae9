internal import RuledCore
internal import RuledLua

/// Finds settings within settings, such as `settings.caps.daily`, that a plugin does not have.
///
/// A table that is empty by default may get any members.
struct SettingReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  private let manifest: PluginManifest
  private var variables: [Int: (path: String, value: JSONValue)] = [:]

  init(_ file: SourceFile, _ tree: SyntaxTree, _ manifest: PluginManifest) {
    self.file = file
    self.manifest = manifest
    let assigned = FileFunctions.assigned(in: tree)
    tree.root.forEach { node in
      if node.kind == .local {
        for (local, value) in node.locals(besides: assigned) { variables[local] = setting(value) }
      }
      if node.kind == .index { review(node) }
    }
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
    add(node.children[1], .unknownMember, "\(outer.path) has no member '\(key)'", unknown: key, Array(members.names))
  }
}
