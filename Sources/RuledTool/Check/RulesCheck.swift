internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// Finds mistakes in a rules folder: in every branch, and also after the first error.
struct RulesCheck {
  /// The findings, by file and line.
  var findings: [Finding] {
    found.sorted { $0.key < $1.key }.flatMap { $0.value.sorted { $0.key < $1.key }.flatMap(\.value) }
  }
  private(set) var plugins: [PluginSource] = []
  /// Their manifests, as far as they load.
  private(set) var manifests: [PluginManifest] = []
  private let worker = LuaWorker()
  private var allLoad = true
  /// The files, by their paths; those that are no Lua are left out.
  private var reviews: [String: SourceReview] = [:]
  /// The findings by file and line, in the order found.
  private var found: [String: [Int: [Finding]]] = [:]

  init(_ selection: RulesSelection) throws {
    let (all, errors) = selection.readable()
    for error in errors { add(error) }
    plugins = all.filter { selection.contains($0.name) }
    guard let inspector = SourceInspector(worker: worker) else {
      throw ToolError("there is no memory for a Lua VM")
    }
    let tables = SourceInspector.globals.map { ($0, inspector.members(of: $0)) }
    let members = Dictionary(uniqueKeysWithValues: tables.filter { !$0.1.isEmpty && $0.0 != "plugin" })
    func around(_ manifest: PluginManifest? = nil, isTest: Bool = false) -> SourceReview.Surroundings {
      .init(
        members: members, isGlobal: inspector.knows, settings: manifest.map { ($0.name, $0.settingNames) },
        isTest: isTest)
    }
    for file in plugins.first?.library ?? [] { inspect(file, inspector, around()) }
    for plugin in plugins {
      load(plugin)
      let manifest = manifests.first { $0.name == plugin.name }
      for file in plugin.modules { inspect(file, inspector, around(manifest)) }
      for file in plugin.tests { inspect(file, inspector, around(isTest: true)) }
      checkNames(plugin, inspector)
    }
    for manifest in manifests { checkNames(of: manifest) }
    checkHosts()
    for error in EventDeclaration.disagreements(in: manifests) { add(error) }
    let others = all.filter { !selection.contains($0.name) }
    for plugin in others {
      for file in plugin.modules { reviews[file.path] = SourceReview(file, around()) }
      for file in plugin.tests { reviews[file.path] = SourceReview(file, around(isTest: true)) }
    }
    let known = manifests + others.compactMap { (try? PluginVM(source: $0, worker: worker))?.manifest }
    let facts = RulesFacts(
      plugins, others: others, known, allLoad: allLoad, reviews, textMembers: members["string"] ?? [])
    for finding in facts.findings { add(finding) }
  }

  /// The most findings of one line: nobody reads more, and each is compared with the others.
  private static let mostOfLine = 100

  /// Adds a finding, unless the line does not load, or has the same finding or very many already.
  mutating func add(_ file: String, _ line: Int, _ message: String, _ code: Finding.Code = .load) {
    add(Finding(file: file, line: line, message: message, code: code))
  }

  private mutating func add(_ finding: Finding) {
    let others = finding.line > 0 ? found[finding.file]?[finding.line] ?? [] : []
    guard others.count < Self.mostOfLine,
      !others.contains(where: { [$0.code, finding.code].contains(.load) || $0.message == finding.message })
    else { return }
    append(finding)
  }

  private mutating func append(_ finding: Finding) {
    found[finding.file, default: [:]][finding.line, default: []].append(finding)
  }

  private mutating func add(_ error: LoadError) { add(error.file, error.line, error.message) }

  var ruleCount: Int { manifests.reduce(0) { $0 + $1.rules.count } }

  // MARK: Sources

  /// Finds syntax errors, and names that do not exist.
  private mutating func inspect(_ file: SourceFile, _ inspector: SourceInspector, _ around: SourceReview.Surroundings) {
    do throws(LoadError) { _ = try inspector.uses(in: file) } catch { add(error) }
    reviews[file.path] = SourceReview(file, around)
    for finding in reviews[file.path]?.findings ?? [] { add(finding) }
  }

  /// Finds uses of sinks, files and modules that the plugin does not have.
  private mutating func checkNames(_ plugin: PluginSource, _ inspector: SourceInspector) {
    let manifest = manifests.first { $0.name == plugin.name }
    let required = manifest?.required ?? []
    for file in plugin.modules + CatalogBuilder.required(by: plugin) {
      for missing in (try? inspector.missingFiles(in: file, of: plugin, required: required)) ?? [] {
        add(missing.file, missing.line, missing.message, .unknownName)
      }
    }
    guard let manifest else { return }
    for sink in manifest.sinkHandlers + manifest.anonymousSinks where !manifest.sinks.contains(sink.name) {
      let hint = NearestName.hint(sink.name, in: manifest.sinks, otherwise: manifest.advice(onSink: sink.name))
      add(sink.file, sink.line, manifest.problem(ofSink: sink.name) + hint, .unknownName)
    }
  }

  // MARK: Loading

  /// Loads the plugin and its tests as the daemon does, and finds every wrong declaration.
  private mutating func load(_ plugin: PluginSource) {
    let notes = LoadNotes()
    var loads = true
    do throws(LoadError) {
      _ = try PluginVM.load(plugin, worker: worker, noting: notes)
    } catch {
      loads = false
      allLoad = false
      add(notes, plugin)
      add(error)
    }
    for file in plugin.data { if let error = file.jsonError { add(error) } }
    add(notes, plugin)
    if !notes.manifest.name.isEmpty { manifests.append(notes.manifest) }
    checkReach(notes.manifest)
    guard loads else { return }
    let testNotes = LoadNotes()
    do throws(LoadError) {
      _ = try PluginVM(source: plugin, worker: worker, tests: true, noting: testNotes)
      add(testNotes, plugin)
    } catch { add(error) }
    let required = notes.manifest.required.union(testNotes.manifest.required)
    for module in plugin.modules where module.name != "plugin.lua" && !required.contains(module.path) {
      add(module.path, 1, "nothing requires this file, so no event can reach what it declares")
    }
  }

  private mutating func add(_ notes: LoadNotes, _ plugin: PluginSource) {
    var names: [String: GivenNames] = [:]
    for note in notes.notes {
      var line = note.error.line
      if let key = note.key,
        let file = (plugin.modules + plugin.tests + plugin.library).first(where: { $0.path == note.error.file })
      {
        let given = names[file.path] ?? GivenNames(file)
        names[file.path] = given
        line = given.line(of: key, from: line)
      }
      let finding = Finding(file: note.error.file, line: line, message: note.error.message)
      let others = found[finding.file]?[finding.line] ?? []
      if others.count < Self.mostOfLine, !others.contains(finding) { append(finding) }
    }
  }

  /// Finds rules that no event can reach, because no event can have a source that the plugin accepts.
  private mutating func checkReach(_ manifest: PluginManifest) {
    let isUnreachable =
      !manifest.sources.isEmpty && manifest.sources.allSatisfy { $0.text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }
    guard isUnreachable else { return }
    for rule in manifest.rules {
      add(rule.file, rule.line, "no event can reach rule '\(rule.name)', as no source can match the plugin's 'sources'")
    }
  }

  /// Finds members that are declared as `["name?"] = "type"`, whose names then end in a question mark, and `["*"]`.
  private mutating func checkNames(of manifest: PluginManifest) {
    for event in manifest.events { checkNames(in: .members(event.data), event.file, event.line) }
    if let state = manifest.state { checkNames(in: .members(state.members), state.file, state.line) }
    for query in manifest.queries {
      if let arguments = query.arguments { checkNames(in: .members(arguments), query.file, query.line) }
    }
  }

  private mutating func checkNames(in type: DataType, _ file: String, _ line: Int) {
    if case .array(let element?) = type { checkNames(in: element, file, line) }
    guard case .members(let schema) = type else { return }
    for member in schema.members {
      if member.name == "*" {
        add(file, line, "'*' is a name here and no pattern; a table with any members is \"object\"", .unknownMember)
      } else if member.name.hasSuffix("?") {
        let advice = "write \(member.name.dropLast()) = \"\(member.type.text)?\""
        add(file, line, "the name of '\(member.name)' ends in '?'; \(advice)", .unknownMember)
      }
      checkNames(in: member.type, file, line)
    }
  }

  private mutating func checkHosts() {
    var owners: [String: String] = [:]
    for manifest in manifests {
      for host in manifest.hosts {
        if let owner = owners[host.name] {
          add(host.file, host.line, "plugin '\(owner)' answers for the host '\(host.name)' already")
        }
        owners[host.name] = owners[host.name] ?? manifest.name
      }
    }
  }

  // MARK: The configuration

  /// Finds mistakes in a configuration file: unknown plugins, settings and sinks, and files, folders and accounts that this host does not have.
  mutating func check(configuration path: String) {
    let configuration: Configuration
    do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(path) } catch {
      for error in error.errors { add(error.file, error.line, error.message, .configuration) }
      return
    }
    add(configuration.unknownPlugins(known: plugins.map(\.name), manifests), path)
    for plugin in plugins {
      checkSettings(configuration.plugins[plugin.name] ?? .init(), of: plugin, path)
    }
    let sinks = manifests.count == plugins.count ? manifests.flatMap(\.sinks) : nil
    let review = HostReview(configuration, sinks: sinks)
    add(review.problems, path)
    add(review.notes, path, areNotes: true)
  }

  private mutating func add(_ problems: [ConfigurationProblem], _ path: String, areNotes: Bool = false) {
    // Several problems may be about one line, such as the list of administrators.
    for problem in problems {
      append(
        Finding(
          file: path, line: ConfigurationFile.line(of: problem.path, in: path), message: problem.message,
          code: .configuration, isNote: areNotes))
    }
  }

  private mutating func checkSettings(_ configured: Configuration.Plugin, of plugin: PluginSource, _ path: String) {
    guard !configured.settings.isEmpty, manifests.contains(where: { $0.name == plugin.name }) else { return }
    do throws(LoadError) {
      let manifest = try PluginVM.load(plugin, configured, worker: worker).manifest
      add(manifest.settingProblems + manifest.misspeltTypes(known: manifests.flatMap(\.events).map(\.type)), path)
    } catch {
      add(
        path, ConfigurationFile.line(of: ["plugins", plugin.name], in: path),
        "with these settings plugin '\(plugin.name)' does not load: \(error.description)", .configuration)
    }
  }

  // MARK: The rules in force

  /// Finds states whose shape has changed without a new version since the revision that a daemon has in force.
  ///
  /// Without a daemon, or one that does not show its rules, nothing is found.
  mutating func checkShapes(_ environment: ToolEnvironment) {
    let declaring = manifests.filter { $0.state != nil }
    guard !declaring.isEmpty, access(environment.socket, F_OK) == 0, let client = try? environment.connect(),
      let revision = try? client.call("rules", [:]).member("revision"),
      let shown = try? client.call("revision", ["revision": revision])
    else { return }
    let live = RulesSource(shown: shown).plugins
    for manifest in declaring {
      guard let plugin = live.first(where: { $0.name == manifest.name }),
        let before = (try? PluginVM(source: plugin, worker: worker))?.manifest,
        let obstacle = manifest.obstacle(after: before)
      else { continue }
      add(obstacle.file, obstacle.line, obstacle.message)
    }
  }
}
