package import RuledCore

/// The declarations of a plugin: its properties, and its rules, queries and handlers in order of declaration.
package struct PluginManifest: Sendable {
  /// A rule, without its functions.
  package struct Rule: Sendable {
    /// The rule's name, unique in the plugin.
    package let name: String
    package let on: [EventPattern]
    /// Rules with a higher priority run first.
    let priority: Int
    package let file: String
    package let line: Int
  }

  /// A query, a `web` handler, a sink or a test.
  package struct Handler: Sendable {
    /// The query's name, the host, or the sink.
    package let name: String
    package let file: String
    package let line: Int
    /// The answer of a query, in a sentence; may be empty.
    package var about = ""
    /// The arguments that a query takes; nil for any.
    package var arguments: DataSchema?
  }

  package internal(set) var name = ""
  package internal(set) var version = ""
  package internal(set) var about = ""
  /// Its own settings, without the configuration's.
  var ownSettings = JSONObject()
  /// The settings of the configuration that are in force.
  package internal(set) var overrides = JSONObject()
  /// Its settings, overridden by those of the configuration.
  package internal(set) var settings = JSONObject()
  /// Its declarations of settings, in order.
  package internal(set) var declaredSettings: [SettingDeclaration] = []
  /// The problems of the configured ones.
  package internal(set) var settingProblems: [ConfigurationProblem] = []
  package internal(set) var sinks: [String] = []
  /// The sources whose events it sees; empty for all.
  package internal(set) var sources: [GlobPattern] = []
  package internal(set) var budget = Budget()
  package internal(set) var rules: [Rule] = []
  package internal(set) var events: [EventDeclaration] = []
  /// The shape of its state; nil for any.
  package internal(set) var state: StateShape?
  /// The steps between versions of the state, by the version that they lead up to.
  package internal(set) var steps: [Int: StateShape.Step] = [:]
  /// Where they are declared.
  var stepsDeclared: (file: String, line: Int)?
  package internal(set) var queries: [Handler] = []
  /// The hosts that it answers for.
  package internal(set) var hosts: [Handler] = []
  /// The sinks whose requests it builds.
  package internal(set) var sinkHandlers: [Handler] = []
  /// The sinks that its effects reach without their subject.
  package internal(set) var anonymousSinks: [Handler] = []
  /// The paths of the modules that it requires.
  package internal(set) var required: Set<String> = []
  /// Its tests, if they were loaded.
  package internal(set) var tests: [Handler] = []

  /// The rules in the order in which they run: by priority, then by declaration.
  package var order: [Int] {
    rules.indices.sorted {
      rules[$0].priority != rules[$1].priority ? rules[$0].priority > rules[$1].priority : $0 < $1
    }
  }

  /// The names of its settings, also of those that are declared and have no default.
  package var settingNames: [String] { settings.names + declaredSettings.compactMap(\.keys.first) }

  /// Whether it declares a setting with these keys, or one within it.
  package func declares(_ keys: [String]) -> Bool { declaredSettings.contains { $0.covers(keys) } }

  /// Whether it declares the setting with these keys itself.
  package func declares(setting keys: [String]) -> Bool { declaredSettings.contains { $0.declares(keys) } }

  /// The type that the setting with these keys is declared to have always; nil where it is not.
  package func declaredType(ofSetting keys: [String]) -> DataType? {
    declaredSettings.first { $0.declares(keys) }?.dataType
  }

  /// The first key of a declaration that its settings lack, with the names that stand there; nil if they lack none, or the table is empty.
  package func missingKey(of declaration: SettingDeclaration) -> (depth: Int, key: String, others: [String])? {
    var table = settings
    for (depth, key) in declaration.keys.enumerated() {
      guard key != "*", !table.isEmpty || depth == 0 else { return nil }
      guard let value = table[key] else { return (depth, key, table.names) }
      guard let inner = value.objectValue else { return nil }
      table = inner
    }
    return nil
  }

  /// Whether the plugin sees events of that source.
  package func accepts(source: String) -> Bool { sources.isEmpty || sources.contains { $0.matches(source) } }

  /// Why the plugin does not see an event of a source that it does not accept.
  package func refusal(ofSource source: String) -> String {
    "the plugin takes sources \(sources.map { "'\($0.text)'" }.joined(separator: ", ")), not '\(source)'"
  }

  // MARK: State

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
