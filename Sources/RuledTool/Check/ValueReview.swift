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

  init(_ file: SourceFile, _ tree: SyntaxTree, _ flow: ValueFlow, of plugin: PluginManifest?, textMembers: [String]) {
    self.file = file
    self.flow = flow
    self.plugin = plugin
    self.textMembers = textMembers
    tree.root.forEach { node in
      reviewSink(node)
      reviewArguments(node)
      reviewExpression(node)
      reviewMember(node)
      reviewGiven(node)
      reviewFirstUse(node)
    }
  }
}
