internal import RuledCore
internal import RuledLua

protocol FileReview {
  var file: SourceFile { get }
  var findings: [Finding] { get set }
}

extension FileReview {
  mutating func add(
    _ node: SyntaxNode, _ code: Finding.Code, _ message: String, isNote: Bool = false, fix: Finding.Fix? = nil
  ) {
    findings.append(Finding(file, node, code, message, isNote: isNote, fix: fix))
  }

  /// Adds a finding on a name that is none of `known`: the message, the nearest known name or else `advice`, and a fix
  /// where that name differs by one letter.
  ///
  /// The fix replaces `range`, by default the text between the node's quotes.
  mutating func add(
    _ node: SyntaxNode, _ code: Finding.Code, _ message: String, unknown name: String, _ known: [String],
    otherwise advice: @autoclosure () -> String? = nil, at range: Range<Int>? = nil
  ) {
    let near = NearestName.find(name, in: known)
    add(
      node, code, message + NearestName.hint(at: near.map { "'\($0)'" }, otherwise: advice()),
      fix: Finding.Fix(range ?? node.unquotedRange, from: name, to: near))
  }

  /// Adds a finding on a member that a declared value does not have.
  mutating func add(
    _ key: SyntaxNode, _ problem: Declarations.MemberProblem, _ member: String, at range: Range<Int>? = nil
  ) {
    add(key, .unknownMember, problem.message, unknown: member, problem.known, otherwise: problem.advice, at: range)
  }

  func text(_ node: SyntaxNode) -> String { String(decoding: file.text[node.range], as: UTF8.self) }
}

extension [String] {
  /// The names as a message lists them, and not very many of them.
  var listed: String { prefix(50).joined(separator: ", ") + (count > 50 ? ", …" : "") }
}
