internal import RuledCore
internal import RuledLua

/// Finds settings within settings, such as `settings.caps.daily`, that a plugin does not have.
///
/// A table that is empty by default may get any members.
struct SettingReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  private let manifest: PluginManifest
  private var variables: [Int: Setting] = [:]

  init(_ file: SourceFile, _ tree: SyntaxTree, _ manifest: PluginManifest) {
    self.file = file
    self.manifest = manifest
    let assigned = FileFunctions.assigned(in: tree)
    tree.root.forEach { node in
      if node.kind == .local {
        for (local, value) in node.locals(besides: assigned) { variables[local] = manifest.setting(value, variables) }
      }
      if node.kind == .index { review(node) }
    }
  }

  private mutating func review(_ node: SyntaxNode) {
    guard let key = node.children[1].stringValue, let outer = manifest.setting(node.children[0], variables),
      !outer.path.isEmpty, let members = outer.value.objectValue, !members.isEmpty, members[key] == nil,
      !manifest.declares(outer.path + [key])
    else { return }
    let path = (["settings"] + outer.path).joined(separator: ".")
    add(node.children[1], .unknownMember, "\(path) has no member '\(key)'", unknown: key, Array(members.names))
  }
}

typealias Setting = (path: [String], value: JSONValue)

extension PluginManifest {
  /// The setting that an expression is, also by way of a variable that holds one; nil if it is none.
  func setting(_ node: SyntaxNode, _ variables: [Int: Setting] = [:]) -> Setting? {
    if node.globalName == "settings" { return ([], .object(settings)) }
    if let local = node.local { return variables[local] }
    guard node.kind == .index, let key = node.children[1].stringValue,
      let outer = setting(node.children[0], variables)
    else { return nil }
    return outer.value[key].map { (outer.path + [key], $0) }
  }
}
