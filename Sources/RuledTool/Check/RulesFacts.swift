internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// The facts on which the plugins of a rules folder have to agree: the types of events, settings, and the members that tests read.
struct RulesFacts {
  private(set) var findings: [Finding] = []

  private var made: [SourceReview.NamedType] = []
  private var tested: [SourceReview.NamedType] = []
  /// The types that rules listen to one by one, and how many rules do.
  private var heard: [String] = []
  private var heardCounts: [String: Int] = [:]
  /// The other patterns of types that rules listen to.
  private var patterns: [EventPattern] = []
  private var words: Set<String> = []
  /// The types that plugins describe.
  private var described: [String] = []
  /// Those of them that are kept for rules.
  private var kept: Set<String> = []

  /// The lines on which a type stands in the place of a subject or a topic.
  private var misplaced: Set<String> = []

  /// Compares the plugins with each other and with the unchecked ones.
  ///
  /// `allLoad`: whether all of them load.
  init(
    _ plugins: [PluginSource], others: [PluginSource], manifests: [PluginManifest], allLoad: Bool, worker: LuaWorker,
    host: HostNames
  ) {
    let surroundings = host.surroundings(nil), tests = host.surroundings(nil, isTest: true)
    let all = manifests + others.compactMap { (try? PluginVM(source: $0, worker: worker))?.manifest }
    for pattern in all.flatMap(\.rules).flatMap(\.on) {
      guard case .exact(let type) = pattern else {
        patterns.append(pattern)
        continue
      }
      heard.append(type)
      heardCounts[type, default: 0] += 1
    }
    described = all.flatMap(\.events).map(\.type)
    kept = Set(all.flatMap(\.events).filter(\.isInternal).map(\.type))
    let open = DescribedData(all)
    let names = (plugins + others).map(\.name)
    var testFiles: [String: [(SourceFile, SourceReview?)]] = [:]
    for plugin in plugins + others {
      testFiles[plugin.name] = plugin.tests.map { ($0, SourceReview($0, tests)) }
      for (_, review) in testFiles[plugin.name] ?? [] { note(review) }
    }
    for plugin in others { for file in plugin.modules { note(SourceReview(file, surroundings)) } }
    let reviewed = plugins.map { plugin in
      (plugin, plugin.modules.map { ($0, SourceReview($0, surroundings)) })
    }
    for (_, files) in reviewed { for (_, review) in files { note(review) } }
    for (plugin, files) in reviewed {
      let library = CatalogBuilder.required(by: plugin).map { ($0, SourceReview($0, surroundings)) }
      let own = (library + files).compactMap { file, review in review.map { (file: file, review: $0) } }
      let testFiles = testFiles[plugin.name] ?? []
      let manifest = manifests.first { $0.name == plugin.name }
      let data = manifest?.sources.isEmpty == false ? DescribedData(all, of: plugin.name) : open
      checkCalls(own, tests: testFiles, plugins: names)
      checkValues(own, manifest, data, manifests, ofTexts: surroundings.members["string"] ?? [])
      guard let manifest else { continue }
      checkSettings(manifest, plugin, own.map(\.review))
      if !plugin.tests.isEmpty { checkDecisions(files) }
      // Where a plugin does not load, its rules are not known.
      guard allLoad else { continue }
      for (_, review) in files + testFiles { checkReceivers(review?.receivers ?? []) }
      for (_, review) in files {
        checkMade(review?.made ?? [])
        checkKept(review?.made ?? [])
      }
      checkTested(plugin)
      checkRules(manifest)
      checkDescriptions(manifest)
    }
  }

  private mutating func note(_ review: SourceReview?) {
    guard let review else { return }
    made += review.made
    tested += review.tested
    if !review.tested.isEmpty || review.made.isEmpty && review.decisions.isEmpty { words.formUnion(review.words) }
  }

  // MARK: Calls

  /// Checks the calls in the plugin's files and in the modules of the library that it uses, each by itself and as one program.
  private mutating func checkCalls(
    _ own: [(file: SourceFile, review: SourceReview)], tests: [(SourceFile, SourceReview?)], plugins: [String]
  ) {
    let all = own.map { ($0, $1.tree) } + tests.compactMap { file, review in review.map { (file, $0.tree) } }
    var modules: [String: ModuleExports] = [:], library: [String: ModuleExports] = [:]
    // A plugin's own module is found before one of the library, but not by the library.
    for (file, review) in own {
      let name = String(file.name.dropLast(".lua".count)), exports = ModuleExports(file, review.tree)
      modules[name] = exports
      if Self.isOfLibrary(file) { library[name] = exports }
    }
    for (file, tree) in all {
      let known = Self.isOfLibrary(file) ? library : modules
      findings += CallReview(file, tree, modules: known, plugins: plugins).findings
      findings += HandlerReview(file, tree).findings
      findings += LocalReview.findings(file, tree)
    }
  }

  /// Checks the values in the same files against what the host and the plugin declare; the library is of no one plugin.
  private mutating func checkValues(
    _ own: [(file: SourceFile, review: SourceReview)], _ manifest: PluginManifest?, _ data: DescribedData,
    _ manifests: [PluginManifest], ofTexts: [String]
  ) {
    var named: [(file: SourceFile, tree: SyntaxTree, isTextOfClients: (SyntaxNode) -> Bool)] = []
    for (file, review) in own {
      let tree = review.tree, isShared = Self.isOfLibrary(file)
      let types = DeclaredTypes(data, manifest, review.data.events)
      let flow = ValueFlow(tree) { isShared ? .any : types.type(of: $0) }
      findings += ArgumentReview(file, tree, flow).findings + ExpressionReview(file, tree, flow).findings
      findings += MemberReview(file, tree, flow, ofTexts: ofTexts).findings + FrozenReview(file, tree).findings
      named.append((file, tree, { !isShared && types.isTextOfClients($0) }))
      guard !isShared, let manifest else { continue }
      findings += data.findings(review.data, flow, file: file.path)
      findings += SettingReview(file, tree, manifest).findings
      findings += StateReview(file, tree, of: manifest.name, manifests, review.data.events, flow).findings
    }
    findings += NameReview(named).findings
  }

  private static func isOfLibrary(_ file: SourceFile) -> Bool { file.path.hasPrefix("lib/") }

  // MARK: Settings and decisions

  private mutating func checkSettings(_ manifest: PluginManifest, _ plugin: PluginSource, _ reviews: [SourceReview]) {
    let readsAny = reviews.contains(where: \.readsAnySetting)
    let read = reviews.reduce(into: Set<String>()) { $0.formUnion($1.settings) }
    for declaration in manifest.declaredSettings {
      guard let (depth, key, others) = manifest.missingKey(of: declaration), depth > 0 || !read.contains(key)
      else { continue }
      let isSlip = key.count > 3 && others.contains { isOneEdit($0, key) && !Self.areSpelledAlike($0, key) }
      guard isSlip || depth == 0 && !readsAny else { continue }
      let message = "setting '\(declaration.path)' is about nothing in the settings\(NearestName.hint(key, in: others))"
      add(declaration.file, declaration.line, .unknownName, message)
    }
    for name in manifest.settings.names where !readsAny && !read.contains(name) {
      let line = plugin.entry.map { RulesCheck.line(of: name, in: $0, from: 1) } ?? 1
      add("\(plugin.name)/plugin.lua", line, .unusedSetting, "nothing reads the setting '\(name)'")
    }
  }

  private mutating func checkDecisions(_ files: [(SourceFile, SourceReview?)]) {
    var seen = words
    for (file, review) in files {
      for decision in review?.decisions ?? [] where seen.insert(decision.key).inserted {
        let message = "no test reads the decision '\(decision.key)'"
        add(file.path, decision.line, .unreadDecision, message, isNote: true)
      }
    }
  }

  // MARK: Types of events

  /// Whether a rule listens to a type; rules that listen to all types do not count.
  private func isHeard(_ type: String) -> Bool {
    heardCounts[type] != nil || patterns.contains { $0 != .any && $0.matches(type) }
  }

  /// Whether a rule listens to a type by its whole name, or a plugin describes it.
  private func isNamed(_ type: String) -> Bool { heardCounts[type] != nil || described.contains(type) }

  /// Whether a type is known by more than the one rule, or the one place, that names it.
  private func isSupported(_ type: String, by evidence: [SourceReview.NamedType]) -> Bool {
    described.contains(type) || evidence.contains { $0.type == type } || heardCounts[type, default: 0] > 1
  }

  /// Finds types in the place of a subject or a topic.
  private mutating func checkReceivers(_ receivers: [SourceReview.Receiver]) {
    for receiver in receivers where isNamed(receiver.first.type) && receiver.type.map(isNamed) != true {
      let message = "\(receiver.function) takes the \(receiver.what) first, then the type of the event"
      add(receiver.first, .wrongArguments, message, nil)
      misplaced.insert("\(receiver.first.file):\(receiver.first.line)")
    }
  }

  private mutating func checkMade(_ types: [SourceReview.NamedType]) {
    let hearsAll = patterns.contains(.any)
    for made in types where !isHeard(made.type) && !misplaced.contains("\(made.file):\(made.line)") {
      let near = heard.first { isOneEdit($0, made.type) }
      // Where other places know the type of this call, the rule is wrong.
      if let near, isSupported(made.type, by: tested), !isSupported(near, by: self.made + tested) { continue }
      guard near != nil || !hearsAll else { continue }
      let meant = near ?? NearestName.find(type: made.type, in: heard + described)
      let hint = meant.map { "; did you mean '\($0)'?" } ?? ""
      add(made, .unheardType, "no rule listens to '\(made.type)', \(made.verb)\(hint)", near)
    }
  }

  /// Notes the types that rules make and hear, and that no description keeps for rules.
  private mutating func checkKept(_ types: [SourceReview.NamedType]) {
    for made in types where isHeard(made.type) && kept.insert(made.type).inserted {
      add(
        made.file, made.line, .openType,
        "a client can send '\(made.type)' as well, \(made.verb) and which rules hear; if only rules are to make "
          + "it, describe it: event \"\(made.type)\" { from = \"rules\" }", isNote: true)
    }
  }

  private mutating func checkTested(_ plugin: PluginSource) {
    let own = tested.filter { $0.file.hasPrefix("\(plugin.name)/") && !isHeard($0.type) }
    for test in own {
      guard let near = heard.first(where: { isOneEdit($0, test.type) }) else { continue }
      // Where one rule alone knows the other type, the rule is wrong.
      guard isSupported(near, by: made + tested), !isSupported(test.type, by: made) else { continue }
      add(test, .similarType, "no rule listens to '\(test.type)'; did you mean '\(near)'?", near)
    }
  }

  /// Finds rules on an unknown type that looks like a known one.
  private mutating func checkRules(_ manifest: PluginManifest) {
    let evidence = Set((made + tested).map(\.type) + described)
    let known = (evidence.sorted() + heard).map { (type: $0, bytes: Array($0.utf8)) }
    for rule in manifest.rules {
      for case .exact(let type) in rule.on where !evidence.contains(type) && heardCounts[type] == 1 {
        let bytes = Array(type.utf8)
        let near = known.first { isOneEdit($0.bytes, bytes) && !Self.areSpelledAlike($0.type, type) }?.type
        // A mistyped call is reported where it stands.
        guard let near, !findings.contains(where: { $0.fix?.text == type }) else { continue }
        add(
          rule.file, rule.line, .similarType,
          "rule '\(rule.name)' listens to '\(type)', which nothing sends; did you mean '\(near)'?")
      }
    }
  }

  /// Finds descriptions of a type without rules that looks like a type with rules and without a description.
  private mutating func checkDescriptions(_ manifest: PluginManifest) {
    for event in manifest.events where !isHeard(event.type) {
      let near = heard.first { isOneEdit($0, event.type) && !described.contains($0) }
      // Where the rule alone knows its type, the rule is wrong.
      guard let near, (made + tested).contains(where: { $0.type == near }) else { continue }
      add(
        event.file, event.line, .similarType,
        "no rule listens to '\(event.type)', which is described here; did you mean '\(near)'?")
    }
  }

  /// Whether two types differ in dots, dashes, underscores and digits alone, as the names of one event in several plugins do, and
  /// those of levels.
  private static func areSpelledAlike(_ one: String, _ other: String) -> Bool {
    let marks: Set<Character> = [".", "_", "-"]
    return one.filter { !marks.contains($0) && !$0.isNumber } == other.filter { !marks.contains($0) && !$0.isNumber }
  }

  private mutating func add(_ type: SourceReview.NamedType, _ code: Finding.Code, _ message: String, _ near: String?) {
    let isQuoted = type.range.count == type.type.utf8.count + 2
    let fix = near.flatMap { near in
      isQuoted ? Finding.Fix(range: type.range.lowerBound + 1..<type.range.upperBound - 1, text: near) : nil
    }
    add(type.file, type.line, code, message, fix: fix)
  }

  private mutating func add(
    _ file: String, _ line: Int, _ code: Finding.Code, _ message: String, isNote: Bool = false, fix: Finding.Fix? = nil
  ) {
    findings.append(Finding(file: file, line: line, message: message, code: code, isNote: isNote, fix: fix))
  }
}
