internal import Glibc
internal import RuledEngine
internal import RuledLua

extension RulesCheck {
  /// Finds states whose shape has changed without a new version since the revision that a daemon has in force.
  ///
  /// Without a daemon, or one that does not show its rules, nothing is found.
  mutating func checkShapes(_ environment: ToolEnvironment) {
    let declaring = manifests.filter { $0.state != nil }
    guard !declaring.isEmpty, access(environment.socket, F_OK) == 0, let client = try? environment.connect(),
      let revision = try? client.call("rules", [:]).member("revision"),
      let shown = try? client.call("revision", ["revision": revision])
    else { return }
    let live = RulesSource(shown: shown).plugins
    for manifest in declaring {
      guard let plugin = live.first(where: { $0.name == manifest.name }),
        let before = (try? PluginVM(source: plugin, worker: worker))?.manifest,
        let obstacle = manifest.obstacle(after: before)
      else { continue }
      add(obstacle.file, obstacle.line, obstacle.message)
    }
  }
}
