internal import RuledCore
internal import RuledLua

/// Finds names of timers, boards, topics and counters that a plugin uses and never makes, and mistakes in labels of counters.
struct NameReview {
  private(set) var findings: [Finding] = []

  /// Names of one kind: the functions that make one, those that use one, and the message about a name that nothing makes.
  private struct Kind {
    let makers: Set<String>
    let users: Set<String>
    let without: String
    /// Whether the name may be the beginning of a name, and a plugin may use other plugins' names.
    var isPrefix = false
  }

  private static let kinds = [
    Kind(makers: ["timer.set", "timer.every"], users: ["timer.cancel", "timer.due"], without: "which nothing sets"),
    Kind(
      makers: ["board.set", "board.add"],
      users: ["board.leave", "board.top", "board.rank", "board.around", "board.count"],
      without: "on which nothing places a subject"),
    Kind(
      makers: ["topic.join"], users: ["topic.leave", "topic.joined", "topic.count", "publish"],
      without: "which nothing joins"),
    Kind(makers: ["count"], users: ["counters"], without: "which nothing counts", isPrefix: true),
  ]

  private typealias Use = (function: String, name: SyntaxNode, file: SourceFile)

  private var made: [Use] = []
  private var used: [Use] = []

  /// Reads the files of a plugin, with the modules that it requires.
  init(_ files: [(file: SourceFile, tree: SyntaxTree)]) {
    let makers = Set(Self.kinds.flatMap(\.makers)), users = Set(Self.kinds.flatMap(\.users))
    var labels: [String: [(names: Set<String>, node: SyntaxNode, file: SourceFile)]] = [:]
    for (file, tree) in files {
      tree.root.forEach { node in
        guard node.kind == .call, let function = CallReview.hostName(node.children[0]),
          let name = node.arguments.first
        else { return }
        if makers.contains(function) { made.append((function, name, file)) }
        if users.contains(function) { used.append((function, name, file)) }
        let arguments = node.arguments
        guard function == "count", arguments.count > 1, arguments[1].kind == .table else { return }
        review(labels: arguments[1], file)
        let names = arguments[1].children.compactMap { $0.kind == .namedField ? $0.children[0].stringValue : nil }
        if let name = name.stringValue { labels[name, default: []].append((Set(names), arguments[1], file)) }
      }
    }
    for kind in Self.kinds { review(kind) }
    for uses in labels.values where uses.count > 1 { review(uses) }
  }

  // MARK: Names

  private mutating func review(_ kind: Kind) {
    let made = made.filter { kind.makers.contains($0.function) }.map(\.name)
    let names = Set(made.compactMap(\.stringValue)).sorted()
    let beginnings = made.filter { $0.stringValue == nil }.map(Self.beginning)
    for use in used where kind.users.contains(use.function) {
      let name = Self.beginning(of: use.name), isWhole = use.name.stringValue != nil && !kind.isPrefix
      let isMade =
        names.contains { isWhole ? $0 == name : $0.hasPrefix(name) }
        || beginnings.contains { name.hasPrefix($0) || !isWhole && $0.hasPrefix(name) }
      guard !name.isEmpty, !isMade else { continue }
      let known = isWhole ? names : (names + beginnings).map { String($0.prefix(name.count)) }
      let near = NearestName.find(name, in: known)
      guard !kind.isPrefix || near != nil else { continue }
      findings.append(
        Finding(
          file: use.file.path, line: use.name.line,
          message: "\(use.function) of '\(name)', \(kind.without)\(NearestName.hint(name, in: known))",
          code: .unknownName,
          fix: use.name.stringValue.flatMap { _ in Finding.Fix(use.name.unquotedRange, from: name, to: near) }))
    }
  }

  /// The text that a name begins with: all of it, if it is not computed.
  private static func beginning(of name: SyntaxNode) -> String {
    if name.kind == .binary, name.text == ".." { return beginning(of: name.children[0]) }
    return name.stringValue ?? ""
  }

  // MARK: Labels

  /// Finds labels that have as many values as there are subjects, events or moments.
  private mutating func review(labels table: SyntaxNode, _ file: SourceFile) {
    for field in table.children where field.kind == .namedField {
      let value = field.children[1], member = value.children.last?.stringValue
      let isOfEvent =
        value.kind == .index && value.children[0].text == "event"
        && ["subject", "sender", "id", "time"].contains(member)
      let isNew = value.kind == .call && ["now", "uuid"].contains(value.children[0].globalName)
      guard isOfEvent || isNew else { continue }
      findings.append(
        Finding(
          file: file.path, line: field.line,
          message: "the label '\(field.children[0].text)' has values without bound, and each makes another counter",
          code: .wrongArguments, isNote: true))
    }
  }

  /// Finds labels of one counter whose names differ by one letter.
  private mutating func review(_ uses: [(names: Set<String>, node: SyntaxNode, file: SourceFile)]) {
    for use in uses {
      for other in uses {
        for name in use.names.subtracting(other.names).sorted() {
          guard let near = other.names.subtracting(use.names).sorted().first(where: { isOneEdit(name, $0) }),
            uses.count(where: { $0.names.contains(name) }) <= uses.count(where: { $0.names.contains(near) })
          else { continue }
          let message = "the counter has no label '\(name)' elsewhere; did you mean '\(near)'?"
          findings.append(Finding(file: use.file.path, line: use.node.line, message: message, code: .unknownName))
        }
      }
    }
  }
}
