internal import RuledCore
internal import RuledLua

/// Finds members in one file that what the host gives does not have: answers of its functions, requests, effects and arguments of queries.
struct MemberReview {
  private(set) var findings: [Finding] = []

  init(_ file: SourceFile, _ tree: SyntaxTree, _ flow: ValueFlow) {
    tree.root.forEach { node in
      guard node.kind == .index, let member = node.children[1].stringValue,
        case .record(let members) = flow.type(of: node.children[0])
      else { return }
      let names = members.map(\.name), near = NearestName.find(member, in: names)
      guard !names.contains(member) else { return }
      let object = String(decoding: file.text[node.children[0].range], as: UTF8.self)
      let all = "it has \(names.isEmpty ? "none" : names.joined(separator: ", "))"
      findings.append(
        Finding(
          file: file.path, line: node.children[1].line,
          message: "\(object) has no member '\(member)'" + NearestName.hint(member, in: names, otherwise: all),
          code: .unknownMember,
          fix: Finding.Fix(node.children[1], from: member, to: near)))
    }
  }
}
