internal import RuledLua

/// Finds names of sinks that the plugin does not have, also those that local functions get and pass on.
extension ValueReview {
  mutating func reviewSink(_ node: SyntaxNode) {
    guard let plugin, node.kind == .call, flow.variables.hostName(node.children[0]) == "emit",
      let sink = node.arguments.first
    else { return }
    for case let name? in flow.texts(of: sink).map(\.literal) where !plugin.sinks.contains(name.text) {
      add(
        name, .unknownName, plugin.problem(ofSink: name.text), unknown: name.text, plugin.sinks,
        otherwise: plugin.advice(onSink: name.text))
    }
  }
}

extension PluginManifest {
  func problem(ofSink sink: String) -> String { "plugin '\(name)' has no sink '\(sink)'" }

  func advice(onSink sink: String) -> String {
    sinks.isEmpty
      ? "it declares none; add sinks = { \"\(sink)\" } to its plugin { … }"
      : "it declares \(sinks.joined(separator: ", "))"
  }
}
