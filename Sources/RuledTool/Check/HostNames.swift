internal import RuledLua

struct HostNames {
  private let members: [String: [String]]
  private let inspector: SourceInspector

  /// The names that the sandbox of a VM has.
  init(_ inspector: SourceInspector) {
    self.inspector = inspector
    let tables = SourceInspector.globals.map { ($0, inspector.members(of: $0)) }
    members = Dictionary(uniqueKeysWithValues: tables.filter { !$0.1.isEmpty && $0.0 != "plugin" })
  }

  /// The surroundings of a file of a plugin with that manifest.
  func surroundings(_ manifest: PluginManifest?, isTest: Bool = false) -> SourceReview.Surroundings {
    SourceReview.Surroundings(
      members: members, isGlobal: inspector.knows, settings: manifest.map { ($0.name, $0.settingNames) },
      isTest: isTest)
  }
}
