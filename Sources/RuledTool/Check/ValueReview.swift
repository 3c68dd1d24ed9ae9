internal import RuledCore
internal import RuledLua

/// Finds mistakes in the values of one file, as far as it is certain what they are.
struct ValueReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  let flow: ValueFlow
  /// The functions of `string`, which texts have as members.
  let textMembers: [String]
  let zones = ZoneDatabase(load: ZoneFiles.read)

  init(_ file: SourceFile, _ tree: SyntaxTree, _ flow: ValueFlow, textMembers: [String]) {
    self.file = file
    self.flow = flow
    self.textMembers = textMembers
    tree.root.forEach { node in
      reviewArguments(node)
      reviewExpression(node)
      reviewMember(node)
      reviewGiven(node)
      reviewFirstUse(node)
    }
  }
}
