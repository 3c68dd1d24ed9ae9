import RuledCore
import RuledJSON
import Testing

@testable import RuledLua

/// What plugins declare about their settings, and what becomes of those of a configuration.
struct SettingTests {
  private static let defaults = """
    plugin { name = "t", settings = {
      zone = "UTC", host = "app.example.com", url = "", keep = "30d", size = 3, color = "red", words = "hi",
      freezes = { at_start = 1, every_days = 7 },
      messages = { welcome = "Welcome", follow = "Followed" },
      points = { reveal = 10, copy = 15 },
      steps = { { at = 10, name = "a" }, { at = 50, name = "b" } },
      edges = { 1, 5, 10 },
    } }

    """

  private static let declarations = """
    setting "zone" { type = "zone" }
    setting "host" { type = "host" }
    setting "url" { type = "url?" }
    setting "keep" { type = "duration", min = 3600, max = 86400 * 365 }
    setting "size" { type = "integer", min = 1, max = 5, check = function(n) return n ~= 4, "four is unlucky" end }
    setting "color" { type = "string", one_of = { "red", "green" } }
    setting "freezes.at_start" { type = "integer", min = 0 }
    setting "freezes.every_days" { type = "integer", min = 1, about = "Days for a freeze." }
    setting "points.*" { type = "integer", min = 0 }
    setting "steps" { type = { { at = "integer", name = "string" } }, min = 1, sorted_by = "at" }
    setting "steps.*.at" { type = "integer", min = 1, check = function(at, all) return at ~= all.size, "the size" end }
    setting "edges" { type = { "integer" }, sorted_by = "*" }

    """

  private func load(
    _ settings: JSONObject = JSONObject(), _ text: String = defaults + declarations, sources: [String]? = nil
  ) throws -> PluginManifest {
    let source = PluginSource(name: "t", modules: [SourceFile(path: "t/plugin.lua", text: Array(text.utf8))])
    return try PluginVM.load(source, .init(sources: sources, settings: settings), worker: LuaWorker()).manifest
  }

  private func error(_ text: String) -> LoadError? {
    do { _ = try load([:], text) } catch { return error as? LoadError }
    return nil
  }

  @Test func `settings merge by key at every depth, and a list is a value`() throws {
    let deep = "plugin { name = 't', settings = { a = { b = { c = 1, d = 2 }, e = { 1, 2 } }, f = { x = 1 }, g = {} } }"
    let manifest = try load(["a": ["b": ["d": 3], "e": [9]], "f": [], "g": ["new": 1]], deep)
    #expect(
      JSONValue.object(manifest.settings) == ["a": ["b": ["c": 1, "d": 3], "e": [9]], "f": ["x": 1], "g": ["new": 1]])
    #expect(manifest.settingProblems.isEmpty)
  }

  @Test func `right settings are in force, whatever depth they have`() throws {
    let settings: JSONObject = [
      "zone": "Europe/Berlin", "url": "https://example.com/a", "keep": "1d", "size": 5.0, "color": "green",
      "freezes": ["every_days": 3], "points": ["reveal": 12, "own": 1], "messages": ["welcome": "Hello"],
      "steps": [["at": 7, "name": "only"]], "edges": [],
    ]
    let manifest = try load(settings)
    #expect(manifest.settingProblems.map(\.message) == [])
    #expect(JSONValue.object(manifest.settings["freezes"]?.objectValue ?? [:]) == ["at_start": 1, "every_days": 3])
    #expect(manifest.settings["messages"] == ["welcome": "Hello", "follow": "Followed"])
    #expect(manifest.settings["points"] == ["reveal": 12, "copy": 15, "own": 1])
  }

  @Test(
    arguments: [
      (
        ["zone": "Europe/Berln"],
        "'zone' of plugin 't' must be the name of a time zone, such as \"Europe/Berlin\", not \"Europe/Berln\""
      ),
      (["zone": ""], "'zone' of plugin 't' must be the name of a time zone"),
      (["host": "https://example.com"], "'host' of plugin 't' must be the name of a host"),
      (["url": "ftp://example.com"], "'url' of plugin 't' must be an http or https URL"),
      (["keep": "soon"], "'keep' of plugin 't' must be a duration such as"),
      (["keep": "1m"], "'keep' of plugin 't' must be at least 3600 seconds, not 60"),
      (["keep": "60w"], "'keep' of plugin 't' must be at most 31536000 seconds"),
      (["size": 0], "'size' of plugin 't' must be at least 1, not 0"),
      (["size": 1.5], "'size' of plugin 't' must be an integer, not 1.5"),
      (["size": 1e300], "'size' of plugin 't' must be an integer, not 1e+300"),
      (["size": -0x1p63], "'size' of plugin 't' must be an integer, not -9.22"),
      (["size": 4], "'size' of plugin 't' can't be 4: four is unlucky"),
      (["color": "blue"], #"'color' of plugin 't' must be one of "red", "green", not "blue""#),
      (["words": 3], "'words' of plugin 't' must be a string, as it is by default"),
      (["messages": ["welcome": 3]], "'messages.welcome' of plugin 't' must be a string, as it is by default"),
      (["freezes": ["every_days": 0]], "'freezes.every_days' of plugin 't' must be at least 1, not 0"),
      (["freezes": 3], "'freezes' of plugin 't' must be a table of named values, as it is by default"),
      (["points": ["reveal": -1]], "'points.reveal' of plugin 't' must be at least 0, not -1"),
      (["steps": [:]], "'steps' of plugin 't' must have a length of at least 1, not 0"),
      (["steps": []], "'steps' of plugin 't' must have a length of at least 1, not 0"),
      (
        ["steps": [["at": 1, "name": "x"], ["at": "ten", "name": "x"]]],
        "'steps[2].at' of plugin 't' must be an integer"
      ),
      (["steps": [["at": 1]]], "'steps[1].name' of plugin 't' is missing"),
      (
        ["steps": [["at": 1, "name": "x", "nme": "y"]]], "'steps[1].nme' of plugin 't' is unknown; did you mean 'name'"
      ),
      (["steps": [["at": 0, "name": "x"]]], "'steps[1].at' of plugin 't' must be at least 1, not 0"),
      (["steps": [["at": 3, "name": "x"]]], "'steps[1].at' of plugin 't' can't be 3: the size"),
    ] as [(JSONObject, String)])
  func `a bad setting is named, and the plugin's own is in force`(bad: JSONObject, message: String) throws {
    let own = try load().settings
    let manifest = try load(bad)
    #expect(manifest.settingProblems.map(\.isBadSetting) == [true])
    let problem = try #require(manifest.settingProblems.first)
    #expect(problem.message.contains("the setting \(message)"), "\(problem.message)")
    #expect(problem.path.starts(with: ["plugins", "t", bad[0].name]))
    #expect(JSONValue.object(manifest.settings) == .object(own))
  }

  @Test func `only bad settings fall back`() throws {
    let manifest = try load(["size": 0, "freezes": ["at_start": 2, "every_days": 0], "zone": "Europe/Paris"])
    #expect(manifest.settingProblems.count == 2)
    #expect(manifest.settings["freezes"] == ["at_start": 2, "every_days": 7])
    #expect(manifest.settings["zone"] == "Europe/Paris" && manifest.settings["size"] == 3)
  }

  @Test func `an unknown setting is named, and changes nothing else`() throws {
    let manifest = try load(["sise": 1, "freezes": ["evry_days": 2], "size": 2])
    #expect(
      manifest.settingProblems.map(\.message) == [
        "plugin 't' has no setting 'sise'; did you mean 'size'?",
        "plugin 't' has no setting 'freezes.evry_days'; did you mean 'every_days'?",
      ])
    #expect(!manifest.settingProblems.contains(where: \.isBadSetting) && manifest.settings["size"] == 2)
  }

  @Test func `an unknown key is named at every depth, where the keys are known`() throws {
    let text = """
      plugin { name = "t", settings = {
        points = { reveal = 10 }, prices = { book1 = { amount = 3 }, en = {} }, free = { limit = 1 }, texts = {}, deeds = {},
      } }
      setting "points.*" { type = "integer", names = { "review" } }
      setting "free" { type = "object" }
      setting "deeds.*" { type = { kind = "string", about = "string?" } }
      setting "deeds.*.kind" { type = "string" }
      setting "texts.*.*" { type = "string", names = {} }

      """
    let open: JSONObject = [
      "points": ["reveal": 1, "review": 2], "free": ["limits": 2], "deeds": ["lent": ["kind": "a", "about": "b"]],
      "prices": ["book2": ["amount": 1], "es": 1, "magazine": 2],
    ]
    let known = try load(open, text)
    #expect(known.settingProblems.map(\.message) == [] && known.settings["points"] == ["reveal": 1, "review": 2])
    let problems = try load(
      ["points": ["reviw": 1], "prices": ["book1": ["amonut": 1]], "texts": ["de": ["x": "y"]]], text
    ).settingProblems
    #expect(
      problems.map(\.message) == [
        "plugin 't' has no setting 'points.reviw'; did you mean 'review'?",
        "plugin 't' has no setting 'prices.book1.amonut'; did you mean 'amount'?",
        "plugin 't' has no setting 'texts.de.x'",
      ])
    #expect(problems.map(\.isBadSetting) == [false, false, false])
  }

  @Test func `a list is sorted before the rules see it`() throws {
    let settings: JSONObject = ["steps": [["at": 9, "name": "x"], ["at": 2, "name": "y"]]]
    let text = "local seen = settings.steps[1].at\nif seen ~= 10 and seen ~= 2 then error('unsorted') end\n"
    let manifest = try load(settings, Self.defaults + Self.declarations + text)
    #expect(manifest.settings["steps"] == [["at": 2, "name": "y"], ["at": 9, "name": "x"]])
    #expect(manifest.settingProblems.isEmpty)
    let falling = """
      plugin { name = 't', settings = { l = { 'c', 'a' } } }
      setting 'l' { type = { 'string' }, sorted_by = '-*' }
      """
    #expect(try load(["l": ["a", "z", "m"]], falling).settings["l"] == ["z", "m", "a"])
    let sparse = """
      plugin { name = 't', settings = { l = {} } }
      setting 'l' { type = { { at = 'integer?', to = 'integer?' } }, sorted_by = { 'at', 'to' } }
      """
    let single = sparse.replacing("{ 'at', 'to' }", with: "'at'")
    let bare = JSONValue.object(JSONObject())
    #expect(try load(["l": [["at": 3], bare, ["at": 1]]], single).settings["l"] == [bare, ["at": 1], ["at": 3]])
    #expect(
      try load(["l": [["at": 3, "to": 6], ["at": 1], ["to": 9], ["to": 4]]], sparse).settings["l"]
        == [["at": 1], ["to": 4], ["at": 3, "to": 6], ["to": 9]])
    let crossed: JSONValue = [["at": 1, "to": 2], ["to": 1, "of": 2], ["at": 2, "of": 1]]
    let three = sparse.replacing("to = 'integer?' }", with: "to = 'integer?', of = 'integer?' }")
      .replacing("{ 'at', 'to' }", with: "{ 'at', 'to', 'of' }")
    #expect(try load(["l": crossed], three).settingProblems.isEmpty)
  }

  @Test func `a setting that a file fails on while it loads falls back, too`() throws {
    let text = Self.defaults + "local day = calendar.day(0, settings.zone)\n" + Self.declarations
    let manifest = try load(["zone": "Europe/Berln"], text)
    #expect(manifest.settings["zone"] == "UTC" && manifest.settingProblems.count == 1)
    #expect(throws: LoadError.self) { try load(["words": "x"], text + "error(settings.words)") }
  }

  @Test func `settings that are wrong only together fall back together`() throws {
    let text = """
      plugin { name = "t", settings = { stamps = { "a", "b" }, first = "a", other = 1 } }
      setting "first" { type = "string", check = function(id, all)
        for _, stamp in ipairs(all.stamps) do if stamp == id then return true end end
        return false, "no stamp of the list"
      end }
      """
    let manifest = try load(["stamps": ["c"], "other": 2], text)
    #expect(JSONValue.object(manifest.settings) == ["stamps": ["a", "b"], "first": "a", "other": 1])
    let message = "the setting 'first' of plugin 't' can't be \"a\": no stamp of the list"
    #expect(manifest.settingProblems.map(\.message) == [message])
    #expect(try load(["stamps": ["c"], "first": "c"], text).settings["first"] == "c")
  }

  @Test func `a setting that falls back accuses none that were right beside it`() throws {
    let text = """
      plugin { name = "t", settings = { deeds = { "buy" }, points = { buy = 1 } } }
      setting "deeds" { type = { "string" }, check = function(deeds, all)
        for _, deed in ipairs(deeds) do if not all.points[deed] then return false, deed .. " has no points" end end
        return true
      end }
      setting "points.*" { type = "integer", names = settings.deeds }
      """
    let problems = try load(["deeds": ["read", "review"], "points": ["read": 2, "revew": 3]], text).settingProblems
    #expect(
      problems.map(\.message) == [
        "plugin 't' has no setting 'points.revew'; did you mean 'review'?",
        "the setting 'deeds' of plugin 't' is wrong: review has no points",
      ])
  }

  @Test func `a bad setting is told alone, without those that can't be right beside the plugin's own`() throws {
    let text = """
      plugin { name = "t", settings = { deeds = { "buy" }, points = { buy = 1 }, caps = {}, size = 1 } }
      local function check(names, all)
        for _, name in pairs(names) do if not all.points[name] then return false, name .. " is missing" end end
        return true
      end
      setting "deeds" { type = { "string" }, check = check }
      setting "caps" { type = { "string" }, check = check }
      setting "points.*" { type = "integer" }
      setting "size" { type = "integer", check = function(n) return n ~= 4, "four is unlucky" end }
      """
    let settings: JSONObject = ["deeds": ["read"], "points": ["read": "ten"], "caps": ["read"], "size": 4]
    let manifest = try load(settings, text)
    #expect(
      manifest.settingProblems.map(\.message) == [
        "the setting 'points.read' of plugin 't' must be an integer, not \"ten\"",
        "the setting 'size' of plugin 't' can't be 4: four is unlucky",
      ])
    #expect(JSONValue.object(manifest.settings) == ["caps": [:], "deeds": ["buy"], "points": ["buy": 1], "size": 1])
  }

  @Test(arguments: [JSONValue.integer(3), [3], [["name": 3]], [["name": "buy"], ["nam": "read"]]])
  func `a bad setting is told alone, without names that it makes known once it is right`(
    deeds: JSONValue
  ) throws {
    let text = """
      plugin { name = "t", settings = { deeds = { { name = "buy" } }, points = { buy = 1 } } }
      local names = {}
      for i, deed in ipairs(settings.deeds) do names[i] = deed.name end
      setting "deeds" { type = { { name = "string" } } }
      setting "points.*" { type = "integer", names = names }
      """
    let problems = try load(["deeds": deeds, "points": ["read": 2]], text).settingProblems
    #expect(problems.count == 1 && problems.allSatisfy { $0.message.contains("the setting 'deeds") }, "\(problems)")
  }

  @Test(arguments: [
    ("setting 'words' { type = 'integer' }", "the setting 'words' of plugin 't' must be an integer, not \"hi\""),
    ("setting 'size' { type = 'integer', max = 2 }", "the setting 'size' of plugin 't' must be at most 2, not 3"),
    ("setting 'wrods' { type = 'string' }", "the setting 'wrods' of plugin 't' is missing"),
    ("setting 'edges' { type = { 'integer' }, sorted_by = '-*' }", "'edges' of plugin 't' must be in the order"),
    ("setting 'edges' { type = { 'integer' }, sorted_by = 1 }", "setting 'edges': 'sorted_by' must be a member, or"),
    ("setting 'size' { type = 'integer', check = function() error('oops') end }", "can't be 3: its check fails: "),
    ("setting 'size' { type = 'integer', check = function() end }", "can't be 3: its check refuses it"),
    ("setting 'size' { type = 'intger' }", "setting 'size': there is no type 'intger'; did you mean 'integer'?"),
    ("setting 'size' { typ = 'integer' }", "setting 'size' takes a table with its type"),
    ("setting 'size' { type = 'integer', mn = 1 }", "setting 'size' has no key 'mn'; did you mean 'min'?"),
    ("setting 'size' { type = 'integer', min = 'one' }", "setting 'size': 'min' must be a number"),
    ("setting 'color' { type = 'string', one_of = {} }", "setting 'color': 'one_of' must be a list of values"),
    ("setting 'points.*' { type = 'any', names = { 1 } }", "setting 'points.*': 'names' must be a list of the keys"),
    ("setting 'points' { type = 'any', names = { 'a' } }", "setting 'points': 'names' must be a list of the keys"),
    ("setting 'a..b' { type = 'integer' }", "setting 'a..b': a path is keys between dots"),
    ("setting 'size' { type = 'integer', check = 1 }", "'check' must be a function, not a number"),
    ("for _ = 1, 2 do setting 'size' { type = 'any' } end", "setting 'size' is declared twice, first at t/plugin.lua:"),
  ])
  func `a mistake in the rules themselves is an error with its line`(text: String, message: String) throws {
    let found = try #require(error(Self.defaults + "\n" + text))
    #expect(found.message.contains(message), "\(found)")
    let lines = Self.defaults.split(separator: "\n", omittingEmptySubsequences: false).count
    #expect(found.file == "t/plugin.lua" && found.line == lines + 1, "\(found)")
  }

  @Test func `the configuration may name other sources`() throws {
    let text = "plugin { name = 't', sources = { 'app' } }"
    #expect(try load([:], text).accepts(source: "app"))
    let manifest = try load([:], text, sources: ["shop*"])
    #expect(manifest.accepts(source: "shop.example") && !manifest.accepts(source: "app"))
    #expect(try load([:], text, sources: []).accepts(source: "any"))
  }
}
