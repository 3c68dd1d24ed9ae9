internal import Glibc
internal import RuledLua

extension RulesCheck {
  /// Finds states whose shape has changed without a new version since the revision that a daemon has in force.
  ///
  /// Without a daemon, or one that does not show its rules, nothing is found.
  mutating func checkShapes(_ environment: ToolEnvironment) {
    let declaring = manifests.filter { $0.state != nil }
    guard !declaring.isEmpty, access(environment.socket, F_OK) == 0, let client = try? environment.connect(),
      let revision = try? client.call("rules", [:]).member("revision"),
      let files = try? client.call("revision", ["revision": revision]).elements("files")
    else { return }
    let sources = files.compactMap { file -> SourceFile? in
      guard let path = file.member("path")?.stringValue, let text = file.member("text")?.stringValue else { return nil }
      return SourceFile(path: path, text: Array(text.utf8))
    }
    for manifest in declaring {
      let own = sources.filter { $0.path.hasPrefix("\(manifest.name)/") }
      let live = PluginSource(
        name: manifest.name, modules: own.filter { $0.path.hasSuffix(".lua") },
        data: own.filter { $0.path.hasSuffix(".json") }, library: sources.filter { $0.path.hasPrefix("lib/") })
      guard let before = (try? PluginVM(source: live, worker: worker))?.manifest,
        let obstacle = manifest.obstacle(after: before)
      else { continue }
      add(obstacle.file, obstacle.line, obstacle.message)
    }
  }
}
