import RuledCore

/// What a plugin declares about its state: `state { version =, … }`.
package struct StateShape: Sendable {
  /// The highest version that can be declared.
  static let mostVersions = 1_000_000

  /// A step from one version to the next.
  package struct Step: Sendable {
    package let hasUp: Bool
    package let hasDown: Bool
  }

  package let version: Int
  package let members: DataSchema
  /// Whether members that are not declared are refused.
  package let isClosed: Bool
  /// The file that declares it.
  package let file: String
  /// The line at which it is declared.
  package let line: Int

  /// The shape as a plugin writes it, without what the members mean: two shapes with the same text accept the same states.
  package var text: String { members.typesJSON.text + (isClosed ? " closed" : "") }
}

extension PluginManifest {
  /// The version of the plugin's states: 1 where it declares none.
  package var stateVersion: Int { state?.version ?? 1 }

  /// Why the plugin does not load with its steps; nil if it has those that it needs, and no others.
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

extension DataSchema {
  /// The members with their types, without what they mean.
  fileprivate var typesJSON: JSONValue {
    .object(JSONObject(members.map { (name: $0.name + ($0.isOptional ? "?" : ""), value: $0.type.typesJSON) }))
  }
}

extension DataType {
  fileprivate var typesJSON: JSONValue {
    switch self {
    case .array(let element?): .array([element.typesJSON])
    case .members(let schema): schema.typesJSON
    default: .string(text)
    }
  }
}
