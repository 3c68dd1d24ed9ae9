internal import RuledCore
internal import RuledLua

/// Finds unknown members in one file: of texts, of numbers, and of the host's values, such as answers of its functions, requests, effects and arguments
/// of queries.
struct MemberReview: FileReview {
  let file: SourceFile
  var findings: [Finding] = []

  /// `ofTexts` are the functions of `string`, which texts have as members.
  init(_ file: SourceFile, _ tree: SyntaxTree, _ flow: ValueFlow, ofTexts: [String]) {
    self.file = file
    tree.root.forEach { node in
      guard node.kind == .index, let member = node.children[1].stringValue else { return }
      let type = flow.type(of: node.children[0])
      guard case .record(let members) = type else {
        guard [.string, .number, .boolean].contains(type), type != .string || !ofTexts.contains(member) else { return }
        let message = "\(text(node.children[0])) is \(type.text) and has no member '\(member)'"
        return add(node.children[1], .unknownMember, message)
      }
      let names = members.map(\.name)
      guard !names.contains(member) else { return }
      add(
        node.children[1], .unknownMember, "\(text(node.children[0])) has no member '\(member)'", unknown: member, names,
        otherwise: "it has \(names.isEmpty ? "none" : names.joined(separator: ", "))")
    }
  }
}
