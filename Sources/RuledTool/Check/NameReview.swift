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

  private typealias Use = (function: String, text: ValueFlow.Text, node: SyntaxNode, file: SourceFile)

  /// Where ever more values come from.
  private enum Source { case events, subjects, clients }

  private var uses: [Use] = []

  private var flow: ValueFlow?
  /// How often each member is read, and how often that is for a name or a label: other reads may bound its values.
  private var reads: [String: Int] = [:]
  private var namingReads: [String: Int] = [:]

  init(_ flows: [(SourceReview, flow: ValueFlow)]) {
    let named = Set(Self.kinds.flatMap { $0.makers.union($0.users) })
    var labels: [String: [(names: Set<String>, node: SyntaxNode, file: SourceFile)]] = [:]
    for (source, _) in flows { source.tree.root.forEach { countReads(in: $0, source.variables) } }
    for (source, flow) in flows {
      let file = source.file
      self.flow = flow
      source.tree.root.forEach { node in
        guard node.kind == .call, let function = flow.variables.hostName(node.children[0]),
          let name = node.arguments.first
        else { return }
        if named.contains(function) {
          uses += flow.texts(of: name).map { (function, $0, $0.literal ?? name, file) }
        }
        let arguments = node.arguments
        review(bound: function, arguments, file)
        guard function == "count", arguments.count > 1, let name = flow.variables.text(name),
          let table = flow.variables.table(arguments[1])
        else { return }
        let names = table.children.compactMap { $0.kind == .namedField ? $0.children[0].stringValue : nil }
        labels[name, default: []].append((Set(names), table, file))
      }
    }
    for uses in labels.values where uses.count > 1 { review(uses) }
  }

  // MARK: Names

  /// Names that something makes: those that stand there as a whole, and the beginnings of others.
  private struct Made {
    let names: OrderedNames
    let beginnings: OrderedNames

    init(_ texts: [ValueFlow.Text]) {
      names = OrderedNames(texts.compactMap(\.literal?.text))
      beginnings = OrderedNames(texts.filter { $0.literal == nil }.map(\.beginning))
    }

    /// Whether the name is made, or one that begins with it, as far as that is known.
    func mayHave(_ name: String, isWhole: Bool) -> Bool {
      (isWhole ? names.contains(name) : names.contains(beginningWith: name)) || beginnings.contains(beginningOf: name)
        || !isWhole && beginnings.contains(beginningWith: name)
    }

    func near(_ name: String, isWhole: Bool) -> String? {
      if isWhole { return NearestName.find(name, in: names.all) }
      let all = (names.all + beginnings.all).prefix(NearestName.most)
      let counts = [name.count, name.count + 1, name.count - 1]
      return NearestName.find(name, in: counts.flatMap { count in all.map { String($0.prefix(count)) } })
    }
  }

  /// The names of the plugin's counters.
  var counted: [ValueFlow.Text] { uses.filter { $0.function == "count" }.map(\.text) }

  /// Finds names that nothing makes; `counted` are the counters of all plugins, nil if not all of these load.
  mutating func reviewNames(counted: [ValueFlow.Text]?) {
    for kind in Self.kinds { review(kind, elsewhere: kind.isPrefix ? counted.map(Made.init) : Made([])) }
  }

  private mutating func review(_ kind: Kind, elsewhere: Made?) {
    let own = Made(uses.filter { kind.makers.contains($0.function) }.map(\.text))
    for use in uses where kind.users.contains(use.function) {
      let name = use.text.beginning, isWhole = use.text.literal != nil && !kind.isPrefix
      guard !name.isEmpty, !own.mayHave(name, isWhole: isWhole), elsewhere?.names.contains(beginningWith: name) != true
      else { continue }
      let slip = own.near(name, isWhole: isWhole)
      guard slip != nil || elsewhere?.mayHave(name, isWhole: isWhole) == false else { continue }
      let near = slip ?? elsewhere?.near(name, isWhole: isWhole)
      let message = "\(use.function) of '\(name)', \(kind.without)\(NearestName.hint(at: near.map { "'\($0)'" }))"
      let fix = use.text.literal.flatMap { Finding.Fix($0.unquotedRange, from: name, to: near) }
      findings.append(Finding(use.file, use.node, .unknownName, message, fix: fix))
    }
  }

  // MARK: Bounds

  private mutating func countReads(in node: SyntaxNode, _ variables: FileValues) {
    if node.kind == .index, let member = node.children[1].stringValue { reads[member, default: 0] += 1 }
    guard node.kind == .call, let function = variables.hostName(node.children[0]),
      ["count", "board.set", "board.add"].contains(function)
    else { return }
    node.children[1].forEach { part in
      if part.kind == .index, let member = part.children[1].stringValue { namingReads[member, default: 0] += 1 }
    }
  }

  /// Finds names and labels that have as many values as there are subjects, events or texts of clients, and `once` keys that nothing asks for again.
  private mutating func review(bound function: String, _ arguments: [SyntaxNode], _ file: SourceFile) {
    switch function {
    case "count":
      note(arguments[0], "the name", "counter", file)
      let labels = arguments.dropFirst().first.flatMap { flow?.variables.table($0) }
      for field in labels?.children ?? [] where field.kind == .namedField {
        note(field.children[1], "the label '\(field.children[0].text)'", "counter", file)
      }
    case "board.set", "board.add":
      let options = arguments.dropFirst(2).first.map {
        flow?.variables.table($0).map(Declaration.fields) ?? ["keep": $0]
      }
      if options?["keep"] == nil { note(arguments[0], "the name", "board", file) }
    case "once" where arguments.count == 1 && source(of: arguments[0]) == .events:
      note(arguments[0], "the key is another one each time, and is kept for ever: give once its seconds", file)
    default: break
    }
  }

  private mutating func note(_ node: SyntaxNode, _ what: String, _ made: String, _ file: SourceFile) {
    guard let source = source(of: node) else { return }
    let why = source == .clients ? "is any text that a client sends" : "has values without bound"
    note(node, "\(what) \(why), and each makes another \(made)", file)
  }

  private mutating func note(_ node: SyntaxNode, _ message: String, _ file: SourceFile) {
    findings.append(Finding(file, node, .wrongArguments, message, isNote: true))
  }

  /// Where the values of an expression come from that have no bound; nil where that is not certain.
  private func source(of node: SyntaxNode) -> Source? {
    switch node.kind {
    case .name: return node.local.flatMap { flow?.variables[$0] }.flatMap(source)
    case .parenthesis: return source(of: node.children[0])
    case .index:
      let member = node.children[1].stringValue ?? ""
      switch node.children[0].text == "event" ? member : "" {
      case "id", "time": return .events
      case "subject", "sender": return .subjects
      default: return flow?.isTextOfClients(node) == true && reads[member] == namingReads[member] ? .clients : nil
      }
    case .call:
      let function = flow?.variables.hostName(node.children[0]) ?? ""
      if ["now", "uuid"].contains(function) { return .events }
      let isSame = ["tostring", "text.lower", "text.upper", "text.trim", "text.fold"].contains(function)
      return isSame ? node.arguments.first.flatMap(source) : nil
    case .binary where node.text == "..": return node.children.lazy.compactMap(source).first
    case .binary where node.text == "or": return source(of: node.children[0])
    default: return nil
    }
  }

  /// Finds labels of one counter whose names differ by one letter.
  private mutating func review(_ uses: [(names: Set<String>, node: SyntaxNode, file: SourceFile)]) {
    let counts = Dictionary(uses.flatMap(\.names).map { ($0, 1) }, uniquingKeysWith: +)
    let labels = NearTexts(counts.keys.sorted())
    for use in uses {
      for name in use.names.sorted() {
        let count = counts[name, default: 0]
        guard let near = labels.near(name).first(where: { !use.names.contains($0) && count <= counts[$0, default: 0] })
        else { continue }
        let message = "the counter has no label '\(name)' elsewhere; did you mean '\(near)'?"
        findings.append(Finding(use.file, use.node, .unknownName, message))
      }
    }
  }
}
