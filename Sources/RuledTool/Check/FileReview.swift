internal import RuledCore
internal import RuledLua

/// Finds mistakes in one file.
protocol FileReview {
  var file: SourceFile { get }
  var findings: [Finding] { get set }
}

extension FileReview {
  mutating func add(
    _ node: SyntaxNode, _ code: Finding.Code, _ message: String, isNote: Bool = false, fix: Finding.Fix? = nil
  ) {
    findings.append(Finding(file: file.path, line: node.line, message: message, code: code, isNote: isNote, fix: fix))
  }

  /// Adds a finding on a name that is none of `known`: the message, the nearest known name or else `advice`, and a fix
  /// where that name differs by one letter.
  ///
  /// The fix replaces `range`, by default the text between the node's quotes.
  mutating func add(
    _ node: SyntaxNode, _ code: Finding.Code, _ message: String, unknown name: String, _ known: [String],
    otherwise advice: String? = nil, at range: Range<Int>? = nil
  ) {
    let near = NearestName.find(name, in: known)
    add(
      node, code, message + NearestName.hint(at: near.map { "'\($0)'" }, otherwise: advice),
      fix: Finding.Fix(range ?? node.unquotedRange, from: name, to: near))
  }

  func text(_ node: SyntaxNode) -> String { String(decoding: file.text[node.range], as: UTF8.self) }
}

extension SyntaxNode {
  /// The arguments of a call.
  var arguments: [SyntaxNode] { children[1].children }

  /// The local variables that a `local` statement gives a value, but those of `excluded`.
  func locals(besides excluded: Set<Int>) -> [(local: Int, value: SyntaxNode)] {
    zip(children[0].children, children[1].children).compactMap { variable, value in
      variable.local.flatMap { excluded.contains($0) ? nil : ($0, value) }
    }
  }
}
