internal import RuledCore
internal import RuledEngine
internal import RuledJSON
internal import RuledLua

/// Looks for all that is wrong in a rules folder, in every branch and not only up to the first error.
struct RulesCheck {
  /// What was found, by file and line.
  var findings: [Finding] { found.sorted { $0.file != $1.file ? $0.file < $1.file : $0.line < $1.line } }
  /// The plugins that were looked at.
  private(set) var plugins: [PluginSource] = []
  /// What they declare, as far as they load.
  private(set) var manifests: [PluginManifest] = []
  /// The worker on which plugins are loaded.
  let worker = LuaWorker()
  private var found: [Finding] = []

  /// Checks the plugins of a place.
  init(_ place: RulesPlace) throws {
    let source = try read(place)
    plugins = source.filter { place.plugin == nil || $0.name == place.plugin }
    guard let inspector = SourceInspector(worker: worker) else {
      throw ToolError("there is no memory for a Lua machine")
    }
    for file in plugins.first?.library ?? [] { inspect(file, inspector) }
    for plugin in plugins {
      for file in plugin.modules + plugin.tests { inspect(file, inspector) }
      load(plugin)
      checkNames(plugin, inspector)
    }
    checkHosts()
  }

  /// Adds a finding, unless something was found at that place before.
  mutating func add(_ file: String, _ line: Int, _ message: String) {
    guard !found.contains(where: { $0.file == file && $0.line == line && line > 0 }) else { return }
    found.append(Finding(file: file, line: line, message: message))
  }

  private mutating func add(_ error: RuledLua.LoadError) { add(error.file, error.line, error.message) }

  /// How many rules the plugins have.
  var rules: Int { manifests.reduce(0) { $0 + $1.rules.count } }

  /// Reads the folder, and what can be read of it when something can't.
  private mutating func read(_ place: RulesPlace) throws -> [PluginSource] {
    do throws(ReloadError) { return try place.read().plugins } catch {
      for error in error.errors { add(error) }
      let broken = Set(error.errors.map { String($0.file.prefix { $0 != "/" }) })
      guard !broken.contains(""), !broken.contains("lib") else { return [] }
      return (try? RulesFolder.read(place.root) { !broken.contains($0) }.plugins) ?? []
    }
  }

  // MARK: Texts

  /// Looks for syntax errors and for globals that are not there.
  private mutating func inspect(_ file: SourceFile, _ inspector: SourceInspector) {
    let uses: [SourceInspector.Use]
    do throws(RuledLua.LoadError) { uses = try inspector.uses(in: file) } catch {
      add(error)
      return
    }
    for use in uses {
      switch use.kind {
      case .write: add(file.path, use.line, "assigns the global '\(use.name)'; declare it with 'local'")
      case .read where !inspector.knows(use.name):
        add(file.path, use.line, "there is no global '\(use.name)'\(Self.meant(use.name, SourceInspector.globals))")
      default: break
      }
    }
  }

  /// Looks for sinks, files and modules that the plugin does not have.
  private mutating func checkNames(_ plugin: PluginSource, _ inspector: SourceInspector) {
    let manifest = manifests.first { $0.name == plugin.name }
    for file in plugin.modules + CatalogBuilder.required(by: plugin) {
      for use in (try? inspector.uses(in: file)) ?? [] where use.kind == .call {
        switch use.name {
        case "emit":
          guard let manifest, !manifest.sinks.contains(use.argument) else { continue }
          add(file.path, use.line, unknown(sink: use.argument, manifest))
        case "data":
          let files = plugin.data.map(\.name)
          guard !files.contains(use.argument) else { continue }
          add(file.path, use.line, "there is no '\(use.argument)' in \(plugin.name)/\(Self.meant(use.argument, files))")
        case "require":
          guard plugin.module(use.argument) == nil else { continue }
          let modules = (plugin.modules + plugin.library).map { String($0.name.dropLast(4)) }
          add(
            file.path, use.line,
            "there is no '\(use.argument).lua' beside plugin.lua or in lib\(Self.meant(use.argument, modules))")
        default: break
        }
      }
    }
    for sink in manifest?.sinkHandlers ?? [] {
      if let manifest, !manifest.sinks.contains(sink.name) {
        add(sink.file, sink.line, unknown(sink: sink.name, manifest))
      }
    }
    for file in plugin.data { checkJSON(file) }
  }

  private func unknown(sink: String, _ manifest: PluginManifest) -> String {
    let declared = manifest.sinks.isEmpty ? "it declares none" : "it declares \(manifest.sinks.joined(separator: ", "))"
    let meant = Self.meant(sink, manifest.sinks)
    return "plugin '\(manifest.name)' has no sink '\(sink)'" + (meant.isEmpty ? "; \(declared)" : meant)
  }

  private mutating func checkJSON(_ file: SourceFile) {
    do throws(JSONError) { _ = try JSONValue(parsing: String(decoding: file.text, as: UTF8.self)) } catch {
      let line = 1 + file.text.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
      add(file.path, line, "is not JSON: \(error.message)")
    }
  }

  /// The question after the name that was probably meant; empty when none is near.
  static func meant(_ name: String, _ known: [String]) -> String {
    NearestName.find(name, in: known).map { "; did you mean '\($0)'?" } ?? ""
  }

  // MARK: Loading

  /// Loads the plugin as the daemon does, and its tests, and notes every wrong declaration.
  private mutating func load(_ plugin: PluginSource) {
    let notes = LoadNotes()
    var isWhole = true
    do throws(RuledLua.LoadError) {
      _ = try PluginVM(source: plugin, worker: worker, noting: notes)
    } catch {
      isWhole = false
      add(notes, plugin)
      add(error)
    }
    add(notes, plugin)
    if !notes.manifest.name.isEmpty { manifests.append(notes.manifest) }
    checkReach(notes.manifest)
    guard isWhole else { return }
    let ofTests = LoadNotes()
    do throws(RuledLua.LoadError) {
      _ = try PluginVM(source: plugin, worker: worker, tests: true, noting: ofTests)
      add(ofTests, plugin)
    } catch { add(error) }
    let required = notes.required.union(ofTests.required)
    for module in plugin.modules where module.name != "plugin.lua" && !required.contains(module.path) {
      add(module.path, 1, "nothing requires this file, so that no event can reach what it declares")
    }
  }

  private mutating func add(_ notes: LoadNotes, _ plugin: PluginSource) {
    for note in notes.notes {
      var line = note.error.line
      if let key = note.key,
        let file = (plugin.modules + plugin.tests + plugin.library).first(where: { $0.path == note.error.file })
      {
        line = Self.line(of: key, in: file, from: line)
      }
      let finding = Finding(file: note.error.file, line: line, message: note.error.message)
      if !found.contains(finding) { found.append(finding) }
    }
  }

  /// The line from `first` on that gives the member called `key` a value.
  private static func line(of key: String, in file: SourceFile, from first: Int) -> Int {
    let lines = String(decoding: file.text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    for line in max(first, 1)..<max(lines.count + 1, first + 1) where line <= lines.count {
      let text = lines[line - 1]
      guard let place = text.firstRange(of: key) else { continue }
      let rest = text[place.upperBound...].drop { " \t\"']".contains($0) }
      if rest.hasPrefix("=") { return line }
    }
    return first
  }

  /// Looks for rules that no event can reach, as the plugin takes no source that an event can have.
  private mutating func checkReach(_ manifest: PluginManifest) {
    let isClosed =
      !manifest.sources.isEmpty && manifest.sources.allSatisfy { $0.text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }
    guard isClosed else { return }
    for rule in manifest.rules {
      add(rule.file, rule.line, "no event can reach rule '\(rule.name)', as no source can match the plugin's 'sources'")
    }
  }

  /// Looks for hosts that two plugins answer for.
  private mutating func checkHosts() {
    var owners: [String: String] = [:]
    for manifest in manifests {
      for host in manifest.hosts {
        let name = host.name.lowercased()
        if let owner = owners[name] {
          add(host.file, host.line, "the host '\(host.name)' is answered by \(owner) already")
        }
        owners[name] = owners[name] ?? manifest.name
      }
    }
  }
}
