internal import RuledCore
internal import RuledLua

/// Finds mistakes in the values of one file, as far as it is certain what they are.
struct ValueReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  let flow: ValueFlow
  /// The functions of `string`, which texts have as members.
  let textMembers: [String]
  /// The plugin that uses the file, which may be one of the library; nil where it has no manifest.
  let plugin: PluginManifest?
  let zones = ZoneDatabase(load: ZoneFiles.read)

  init(_ review: SourceReview, _ flow: ValueFlow, of plugin: PluginManifest?, textMembers: [String]) {
    file = review.file
    self.flow = flow
    self.plugin = plugin
    self.textMembers = textMembers
    review.tree.root.forEach { node in
      reviewSink(node)
      reviewArguments(node)
      reviewExpression(node)
      reviewMember(node)
      reviewGiven(node)
      reviewFirstUse(node)
    }
  }

  /// Finds unknown members: of events' data, states and settings, of texts, numbers and lists, and of the host's values, such as answers of its
  /// functions, requests, effects and arguments of queries.
  private mutating func reviewMember(_ node: SyntaxNode) {
    if node.kind == .methodCall { return review(node.text, node, at: node.mark, of: node.children[0]) }
    guard node.kind == .index else { return }
    let object = node.children[0], key = node.children[1]
    if let member = key.stringValue { return review(member, key, at: key.unquotedRange, of: object) }
    guard text(key) == "0" else { return }
    let isList = if case .array? = flow.dataType(of: object) { true } else { false }
    let message = isList ? "\(text(object)) begins at 1" : "lists begin at 1"
    add(key, isList ? .unknownMember : .oddExpression, message, isNote: !isList)
  }

  private mutating func review(_ member: String, _ key: SyntaxNode, at range: Range<Int>, of object: SyntaxNode) {
    if let part = flow.part(object), let problem = flow.declarations.problem(ofMember: member, in: part) {
      return add(key, problem, member, at: range)
    }
    switch flow.type(of: object) {
    case .record(let members) where !members.contains(where: { $0.name == member }):
      let names = members.map(\.name)
      add(
        key, .unknownMember, "\(text(object)) has no member '\(member)'", unknown: member, names,
        otherwise: "it has \(names.isEmpty ? "none" : names.listed)", at: range)
    case .string where textMembers.contains(member): break
    case let type where [.string, .number, .boolean].contains(type):
      let message = "\(text(object)) is \(type.text) and has no member '\(member)'"
      add(key, .unknownMember, message, unknown: member, type == .string ? textMembers : [], at: range)
    default:
      guard case .array? = flow.dataType(of: object) else { return }
      add(key, .unknownMember, "\(text(object)) is an array and has no member '\(member)'; #list tells its length")
    }
  }

  /// Finds names of sinks that the plugin does not have, also those that local functions get and pass on.
  private mutating func reviewSink(_ node: SyntaxNode) {
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
      : "it declares \(sinks.listed)"
  }
}
