/// The version of the plugin's states, and problems with it.
extension PluginManifest {
  /// The version of the plugin's states: 1 where it declares none.
  package var stateVersion: Int { state?.version ?? 1 }

  /// The problem with the plugin's steps; nil if it has the steps that it needs, and no others.
  var stepsProblem: LoadError? {
    let version = stateVersion
    let (file, line) = stepsDeclared ?? (state?.file ?? "", state?.line ?? 0)
    if let over = steps.keys.filter({ $0 > version }).min() {
      return LoadError(
        file: file, line: line,
        "migrate has a step to version \(over), and the state's version is \(version): raise it with the shape")
    }
    guard version > 1, let missing = (2...version).first(where: { steps[$0]?.hasUp != true }) else { return nil }
    return LoadError(
      file: file, line: line,
      "the state has version \(version), and there is no step to version \(missing): add it, as in "
        + "migrate { [\(missing)] = { up = function(old) … return old end } }")
  }

  /// Why these rules can't follow others for the same states; nil if they can.
  package func obstacle(after other: PluginManifest) -> LoadError? {
    guard let own = state, let others = other.state, own.version == others.version, own.text != others.text else {
      return nil
    }
    return LoadError(
      file: own.file, line: own.line,
      "the shape of the state is another than that in force, and its version is \(own.version) in both: "
        + "make it \(own.version + 1), and add a step to migrate")
  }
}
