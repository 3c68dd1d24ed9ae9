internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// The facts on which the plugins of a rules folder have to agree: the types of events, settings, and the members that tests read.
struct RulesFacts {
  private(set) var findings: [Finding] = []

  /// The types that rules make, and those that tests send.
  private var made: Set<String> = []
  private var tested: Set<String> = []
  /// The types that rules listen to one by one, and how many rules do.
  private var heard: [String: Int] = [:]
  private var nearHeard: NearTexts
  /// The other patterns of types that rules listen to.
  private var patterns: [EventPattern] = []
  private var words: Set<String> = []
  /// The types that plugins describe.
  private let described: Set<String>
  /// All of these types, those of rules first.
  private let named: [String]
  /// Those of them that are kept for rules.
  private var kept: Set<String>
  /// Those of them that no rule makes and no test sends.
  private var unmade: Set<String> = []
  /// The types that fixes write.
  private var mended: Set<String> = []

  /// The lines on which a type stands in the place of a subject or a topic.
  private var misplaced: Set<String> = []

  /// Compares the plugins with each other and with the unchecked ones.
  ///
  /// `all` are the manifests of all of them, as far as they load, and `allLoad` tells whether those to check do; `reviews` are the files by their
  /// paths, `textMembers` the functions of `string`.
  init(
    _ plugins: [PluginSource], others: [PluginSource], _ all: [PluginManifest], allLoad: Bool,
    _ reviews: [String: SourceReview], textMembers: [String]
  ) {
    func reviewed(_ files: [SourceFile]) -> [SourceReview] { files.compactMap { reviews[$0.path] } }
    var exact: [String] = []
    for pattern in all.flatMap(\.rules).flatMap(\.on) {
      if case .exact(let type) = pattern { exact.append(type) } else { patterns.append(pattern) }
    }
    heard = exact.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    nearHeard = NearTexts(exact)
    described = Set(all.flatMap(\.events).map(\.type))
    named = nearHeard.texts + described.sorted()
    kept = Set(all.flatMap(\.events).filter(\.isInternal).map(\.type))
    for plugin in plugins + others { for review in reviewed(plugin.tests + plugin.modules) { note(review) } }
    unmade = kept.subtracting(tested)
    for plugin in plugins + others where !unmade.isEmpty {
      noteMade(reviewed(CatalogBuilder.required(by: plugin) + plugin.modules), all.first { $0.name == plugin.name })
    }
    let evidence = made.union(tested).union(described), nearKnown = NearTexts(evidence.sorted() + exact)
    let open = Declarations(all), names = (plugins + others).map(\.name)
    let flows = (plugins + others).map { plugin in
      let manifest = all.first { $0.name == plugin.name }
      var declarations = manifest?.sources.isEmpty == false ? Declarations(all, of: plugin.name) : open
      declarations.plugin = manifest
      return reviewed(CatalogBuilder.required(by: plugin) + plugin.modules).map { review in
        // The library is of no one plugin.
        (review, flow: ValueFlow(review, Self.isOfLibrary(review.file) ? Declarations([]) : declarations))
      }
    }
    var used = flows.map(NameReview.init)
    let counted = allLoad ? used.flatMap(\.counted) : nil
    for (index, plugin) in plugins.enumerated() {
      let files = reviewed(plugin.modules), tests = reviewed(plugin.tests)
      let own = flows[index].map(\.0)
      let manifest = all.first { $0.name == plugin.name }
      let modules = RequiredModules(own)
      checkCalls(own, tests: tests, modules, plugins: names)
      checkValues(flows[index], modules, of: manifest, textMembers: textMembers)
      used[index].reviewNames(counted: counted)
      findings += used[index].findings
      guard let manifest else { continue }
      checkSettings(manifest, plugin, own)
      if !plugin.tests.isEmpty { checkDecisions(files) }
      // Where a plugin does not load, its rules are not known.
      guard allLoad else { continue }
      for review in files + tests { checkReceivers(review.receivers) }
      for review in files {
        checkMade(review.made)
        checkKept(review.made)
      }
      for review in tests { checkTested(review.tested) }
      checkRules(manifest, evidence, nearKnown)
      checkDescriptions(manifest)
    }
  }

  private mutating func note(_ review: SourceReview) {
    made.formUnion(review.made.map(\.type))
    tested.formUnion(review.tested.map(\.type))
    if !review.tested.isEmpty || review.made.isEmpty && review.decisions.isEmpty { words.formUnion(review.words) }
  }

  /// Notes which types that are kept for rules a plugin makes; any that it describes or hears, where it computes a type.
  private mutating func noteMade(_ files: [SourceReview], _ manifest: PluginManifest?) {
    var declarations = Declarations([])
    declarations.plugin = manifest
    for review in files {
      let flow = ValueFlow(review, declarations)
      var made: Set<String> = []
      review.tree.root.forEach { node in
        if let event = MadeEvent(node, flow.variables) { made.formUnion(flow.texts(of: event.type).map(\.pattern)) }
      }
      if made.remove("*") != nil {
        unmade.subtract(manifest?.events.map(\.type) ?? [])
        for case .exact(let type) in manifest?.rules.flatMap(\.on) ?? [] { unmade.remove(type) }
      }
      unmade.subtract(made)
      for pattern in made.filter({ $0.contains("*") }).map(GlobPattern.init) {
        unmade = unmade.filter { !pattern.matches($0) }
      }
    }
  }

  // MARK: Calls

  /// Checks the calls in the plugin's files and in the modules of the library that it uses, each by itself and as one program.
  private mutating func checkCalls(
    _ own: [SourceReview], tests: [SourceReview], _ modules: RequiredModules, plugins: [String]
  ) {
    for review in own + tests {
      findings += CallReview(review, modules, plugins: plugins).findings
      findings += HandlerReview(review, modules).findings
      findings += LocalReview.findings(review)
    }
    findings += ModuleReview.findings(own + tests, modules)
  }

  /// Checks the values in the same files against what the host and the plugin declare.
  private mutating func checkValues(
    _ flows: [(SourceReview, flow: ValueFlow)], _ modules: RequiredModules, of plugin: PluginManifest?,
    textMembers: [String]
  ) {
    for (review, flow) in flows {
      findings += ValueReview(review, flow, of: plugin, textMembers: textMembers).findings
      findings += FrozenReview(review, modules).findings
    }
  }

  static func isOfLibrary(_ file: SourceFile) -> Bool { file.path.hasPrefix("lib/") }

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
    lazy var given = plugin.entry.map(GivenNames.init)
    for name in manifest.settings.names where !readsAny && !read.contains(name) {
      let line = given?.line(of: name, from: 1) ?? 1
      add("\(plugin.name)/plugin.lua", line, .unusedSetting, "nothing reads the setting '\(name)'")
    }
  }

  private mutating func checkDecisions(_ files: [SourceReview]) {
    var seen = words
    for review in files {
      for decision in review.decisions where seen.insert(decision.key).inserted {
        let message = "no test reads the decision '\(decision.key)'"
        add(review.file.path, decision.line, .unreadDecision, message, isNote: true)
      }
    }
  }

  // MARK: Types of events

  /// Whether a rule listens to a type; rules that listen to all types do not count.
  private func isHeard(_ type: String) -> Bool {
    heard[type] != nil || patterns.contains { $0 != .any && $0.matches(type) }
  }

  /// Whether a rule listens to a type by its whole name, or a plugin describes it.
  private func isNamed(_ type: String) -> Bool { heard[type] != nil || described.contains(type) }

  /// Whether a type is known by more than the one rule, or the one place, that names it.
  private func isSupported(_ type: String, by evidence: Set<String>...) -> Bool {
    described.contains(type) || evidence.contains { $0.contains(type) } || heard[type, default: 0] > 1
  }

  /// Finds types in the place of a subject or a topic.
  private mutating func checkReceivers(_ receivers: [SourceReview.Receiver]) {
    for receiver in receivers where isNamed(receiver.first.type) && receiver.type.map(isNamed) != true {
      let message = "\(receiver.function) takes the \(receiver.what) first, then the type of the event"
      add(receiver.first, .wrongArguments, message, nil)
      misplaced.insert(receiver.first.place)
    }
  }

  private mutating func checkMade(_ types: [SourceReview.NamedType]) {
    let hearsAll = patterns.contains(.any)
    for made in types where !isHeard(made.type) && !misplaced.contains(made.place) {
      let near = nearHeard.near(made.type).first
      // Where other places know the type of this call, the rule is wrong.
      if let near, isSupported(made.type, by: tested), !isSupported(near, by: self.made, tested) { continue }
      guard near != nil || !hearsAll else { continue }
      let meant = near ?? NearestName.find(type: made.type, in: named)
      let hint = meant.map { "; did you mean '\($0)'?" } ?? ""
      add(made, .unheardType, "no rule listens to '\(made.type)', \(made.verb)\(hint)", near)
    }
  }

  /// Notes the types that rules make and hear, and that no description keeps for rules.
  private mutating func checkKept(_ types: [SourceReview.NamedType]) {
    for made in types where isHeard(made.type) && kept.insert(made.type).inserted {
      let message =
        "a client can send '\(made.type)' as well, \(made.verb) and which rules hear; if only rules are to make "
        + "it, describe it: event \"\(made.type)\" { from = \"rules\" }"
      findings.append(Finding(made.file, made.node, .openType, message, isNote: true))
    }
  }

  private mutating func checkTested(_ types: [SourceReview.NamedType]) {
    for test in types where !isHeard(test.type) {
      guard let near = nearHeard.near(test.type).first else { continue }
      // Where one rule alone knows the other type, the rule is wrong.
      guard isSupported(near, by: made, tested), !isSupported(test.type, by: made) else { continue }
      add(test, .similarType, "no rule listens to '\(test.type)'; did you mean '\(near)'?", near)
    }
  }

  /// Finds rules on a type of which there is no evidence, and that looks like a known one or is kept for rules.
  private mutating func checkRules(_ manifest: PluginManifest, _ evidence: Set<String>, _ known: NearTexts) {
    for rule in manifest.rules {
      for case .exact(let type) in rule.on where unmade.contains(type) && !mended.contains(type) {
        let message = "rule '\(rule.name)' listens to '\(type)', which only rules can make, and none makes it"
        add(rule.file, rule.line, .unmadeType, message)
      }
      for case .exact(let type) in rule.on where !evidence.contains(type) && heard[type] == 1 {
        // A mistyped call is reported where it stands.
        guard let near = known.near(type).first(where: { !Self.areSpelledAlike($0, type) }), !mended.contains(type)
        else { continue }
        add(
          rule.file, rule.line, .similarType,
          "rule '\(rule.name)' listens to '\(type)', which nothing sends; did you mean '\(near)'?")
      }
    }
  }

  /// Finds descriptions of a type without rules that looks like a type with rules and without a description.
  private mutating func checkDescriptions(_ manifest: PluginManifest) {
    for event in manifest.events where !isHeard(event.type) {
      let near = nearHeard.near(event.type).first { !described.contains($0) }
      // Where the rule alone knows its type, the rule is wrong.
      guard let near, made.contains(near) || tested.contains(near) else { continue }
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
    let isQuoted = type.node.range.count == type.type.utf8.count + 2
    let fix = isQuoted ? near.map { Finding.Fix(range: type.node.unquotedRange, text: $0) } : nil
    if let fix { mended.insert(fix.text) }
    findings.append(Finding(type.file, type.node, code, message, fix: fix))
  }

  private mutating func add(
    _ file: String, _ line: Int, _ code: Finding.Code, _ message: String, isNote: Bool = false
  ) {
    findings.append(Finding(file: file, line: line, message: message, code: code, isNote: isNote))
  }
}
