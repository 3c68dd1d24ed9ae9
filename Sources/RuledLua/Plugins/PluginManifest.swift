package import RuledCore

/// What a plugin declares: its manifest and its rules, queries and handlers, in order of declaration.
package struct PluginManifest: Sendable {
  /// A rule, without its functions.
  package struct Rule: Sendable {
    /// The rule's name, unique in the plugin.
    package let name: String
    /// The event types that it listens to.
    package let on: [EventPattern]
    /// Higher runs first.
    package let priority: Int
    /// Where it is declared.
    package let file: String
    /// The line at which it is declared.
    package let line: Int
  }

  /// A query, a `web` handler or a `sink` handler.
  package struct Handler: Sendable {
    /// The query's name, the host, or the sink.
    package let name: String
    /// Where it is declared.
    package let file: String
    /// The line at which it is declared.
    package let line: Int
  }

  /// The plugin's name.
  package internal(set) var name = ""
  /// Its version.
  package internal(set) var version = ""
  /// What it is for, in a sentence.
  package internal(set) var about = ""
  /// Its settings with the configuration's values over its own.
  package internal(set) var settings = JSONObject()
  /// Settings that the configuration gives and the plugin does not declare.
  package internal(set) var unknownSettings: [String] = []
  /// The sinks it may emit to.
  package internal(set) var sinks: [String] = []
  /// Sources whose events it sees; empty for all.
  package internal(set) var sources: [GlobPattern] = []
  /// What it may spend on one event.
  package internal(set) var budget = Budget()
  /// Its rules.
  package internal(set) var rules: [Rule] = []
  /// Its queries.
  package internal(set) var queries: [Handler] = []
  /// The hosts that it answers for.
  package internal(set) var hosts: [Handler] = []
  /// The sinks whose requests it makes.
  package internal(set) var sinkHandlers: [Handler] = []
  /// Its tests, where they were loaded.
  package internal(set) var tests: [Handler] = []

  /// The rules in the order in which they run: by priority, then by declaration.
  package var order: [Int] {
    rules.indices.sorted {
      rules[$0].priority != rules[$1].priority ? rules[$0].priority > rules[$1].priority : $0 < $1
    }
  }

  /// Whether events of that source are for this plugin.
  package func accepts(source: String) -> Bool { sources.isEmpty || sources.contains { $0.matches(source) } }
}
