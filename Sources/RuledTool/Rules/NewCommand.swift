internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua
internal import RuledStore

enum NewCommand: Command {
  static let spec = CommandSpec(
    "new", "Makes a plugin that works, with a test that passes, or copies one.",
    synopsis: ["PLUGIN [--rules DIR] [--from PLUGIN]"], required: ["PLUGIN"],
    options: [
      OptionSpec("from", value: "PLUGIN", "Copies this plugin of the rules folder with its tests."),
      OptionSpec("rules", short: "r", value: "DIR", "The rules folder; 'rules' by default.", completes: .folders),
    ],
    details:
      "PLUGIN is a lower-case name of letters, digits and underscores. An existing folder is never changed.\n"
      + "A copy has figures of its own: what bears the plugin's name bears the new one's, such as counters, topics, boards,\n"
      + "queries and the events that it makes. It hears the same events of clients; 'sources' can keep these apart.\n"
      + "It also writes DIR/.luarc.json, unless there is one, and definitions for editors with lua-language-server.",
    examples: [
      .init("rulectl new greeter", "writes rules/greeter with a rule, a query and a test"),
      .init("rulectl new --from gamification shop", "copies rules/gamification to rules/shop, with figures of its own"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let name = arguments.operands[0]
    guard isName(name) else {
      throw ToolError(
        "'\(name)' can't name a plugin; use a lower-case letter, then letters, digits and underscores, 64 at most")
    }
    guard name != "lib" else {
      throw ToolError("'lib' is the folder of modules that plugins share; choose another name")
    }
    let rules = arguments.value("rules") ?? "rules"
    let files = try arguments.value("from").map { model throws(ToolError) in try copy(of: model, in: rules, as: name) }
    try makeFolder(rules)
    let folder = "\(rules)/\(name)"
    guard try makeFolder(folder) else { throw ToolError("'\(folder)' exists already; nothing was written") }
    try makeFolder("\(folder)/tests")
    try writeDefinitions(rules)
    let made =
      files ?? [
        ("plugin.lua", Array(PluginTemplate.plugin(name).utf8)),
        ("tests/\(name)_test.lua", Array(PluginTemplate.test(name).utf8)),
      ]
    for (path, text) in made { try WholeFile.create("\(folder)/\(path)", with: text) }
    let paths = made.map { "\(folder)/\($0.path)" }
    let what = files == nil ? paths.joined(separator: " and ") : "\(folder), \(paths.count) files"
    environment.output.write("made \(what)\n")
    environment.output.write(
      "editors with lua-language-server read \(rules)/.luarc.json and \(rules)/\(Definitions.path)\n")
    environment.output.write("try 'rulectl test \(folder)', then change it\n")
    return .done
  }

  /// The files of a copy of a plugin, with their paths in its folder.
  private static func copy(
    of model: String, in rules: String, as name: String
  ) throws(ToolError) -> [(path: String, text: [UInt8])] {
    let folder = "\(rules)/\(model)"
    let source: PluginSource?, manifest: PluginManifest?
    do {
      source = try RulesFolder.read(rules) { $0 == model }.plugins.first
      manifest = try source.map { try PluginVM(source: $0, worker: LuaWorker()).manifest }
    } catch { throw ToolError("'\(folder)' does not load, so it can't be copied: \(error)") }
    guard let source, let manifest else { throw ToolError("there is no plugin '\(folder)' to copy") }
    let copy = PluginCopy(source, manifest, as: name)
    let files = (source.modules + source.data + source.tests).map { file in
      (path: String(file.path.dropFirst(model.utf8.count + 1)), text: copy.text(of: file))
    }
    return try files
      + recordings(in: "\(folder)/tests").map { file throws(ToolError) in
        (path: "tests/\(file)", text: try Input(path: "\(folder)/tests/\(file)").readAll())
      }
  }

  /// The files of recorded events beside tests.
  ///
  /// Snapshots, which name the plugin, are for `rulectl test --update-snapshots`.
  private static func recordings(in folder: String) -> [String] {
    ((try? Folder.names(folder)) ?? []).filter { $0.hasSuffix(".ndjson") }.sorted()
  }

  /// Writes the files for editors: the definitions anew, the settings unless there are some.
  private static func writeDefinitions(_ rules: String) throws(ToolError) {
    try makeFolder("\(rules)/.definitions")
    let path = "\(rules)/\(Definitions.path)"
    unlink(path)
    try WholeFile.create(path, with: Array(Definitions.text.utf8))
    if access("\(rules)/.luarc.json", F_OK) != 0 {
      let settings = Definitions.settings(library: InstalledLibrary.folder)
      try WholeFile.create("\(rules)/.luarc.json", with: Array(settings.utf8))
    }
  }

  /// Makes a folder; false if it exists.
  @discardableResult
  private static func makeFolder(_ path: String) throws(ToolError) -> Bool {
    if mkdir(path, 0o777) == 0 { return true }
    guard errno == EEXIST else { throw ToolError.system("cannot make the folder '\(path)'") }
    return false
  }

  private static func isName(_ name: String) -> Bool {
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    return name.utf8.count <= 64 && name.utf8.first.map(letters.contains) == true
      && name.utf8.allSatisfy { letters.contains($0) || $0.isDigit || $0 == UInt8(ascii: "_") }
  }
}

private enum PluginTemplate {
  static func plugin(_ name: String) -> String {
    """
    -- \(name): greets a user once a day. Replace this with your rules.

    plugin {
      name = "\(name)",
      version = "0.1.0",
      about = "Greets a user once a day.",
      settings = { words = "Good morning" },
    }

    rule "greet" {
      on = "app.launched",
      run = function(_, state)
        if once("greeted:" .. calendar.date(now(), "UTC")) then
          state.greetings = (state.greetings or 0) + 1
          decide("greeting", settings.words)
        end
      end,
    }

    query "greetings" (function(state) return { count = state and state.greetings or 0 } end)

    """
  }

  static func test(_ name: String) -> String {
    """
    -- Run with: rulectl test

    test "\(name) greets once a day" (function(t)
      t:at("2025-11-10T08:00:00Z")
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Good morning")
      t:equal(t:event("user:1", "app.launched").decisions.greeting, nil)
      t:advance("1d")
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Good morning")
      t:equal(t:query("user:1", "greetings").count, 2)
      t:equal(t:query("user:2", "greetings").count, 0)
    end)

    test "\(name) says what the settings say" (function(t)
      t:settings { words = "Hello" }
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Hello")
    end)

    """
  }
}
