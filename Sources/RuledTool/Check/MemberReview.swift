internal import RuledCore
internal import RuledLua

/// Finds unknown members of the host's values in one file: answers of its functions, requests, effects and arguments of queries.
struct MemberReview: FileReview {
  let file: SourceFile
  var findings: [Finding] = []

  init(_ file: SourceFile, _ tree: SyntaxTree, _ flow: ValueFlow) {
    self.file = file
    tree.root.forEach { node in
      guard node.kind == .index, let member = node.children[1].stringValue,
        case .record(let members) = flow.type(of: node.children[0])
      else { return }
      let names = members.map(\.name)
      guard !names.contains(member) else { return }
      add(
        node.children[1], .unknownMember, "\(text(node.children[0])) has no member '\(member)'", unknown: member, names,
        otherwise: "it has \(names.isEmpty ? "none" : names.joined(separator: ", "))")
    }
  }
}
