import RuledCore
import RuledEngine
import RuledJSON
import RuledTool
import TestSupport
import Testing

@Suite struct CheckCommandTests {
  private func check(_ files: KeyValuePairs<String, String>, _ options: [String] = []) -> Run {
    let folder = RulesFolderOnDisk(files)
    let options = options.map { $0.hasPrefix("@") ? folder.path + "/" + $0.dropFirst() : $0 }
    return withExtendedLifetime(folder) {
      Run(words: ["check", folder.path + "/rules"] + options)
    }
  }

  /// What `check` finds in a plugin called `p` whose text follows its manifest on line 1.
  private func findings(_ text: String, manifest: String = "sinks = { 'mail' }") -> [String] {
    let run = check(["rules/p/plugin.lua": "plugin { name = 'p', \(manifest) }\n\(text)"])
    #expect(run.exit == .no)
    return run.output.split(separator: "\n").dropLast().map(String.init)
  }

  @Test func `a clean folder has no findings`() {
    let run = check(["rules/greeter/plugin.lua": RulesFolderOnDisk.greeter])
    #expect(run.exit == .done, "\(run.output)")
    #expect(run.output.hasSuffix("1 plugin, 3 rules, no findings, 2 notes\n"))
  }

  @Test func `undeclared globals are found in branches that never run`() {
    let found = findings(
      "rule 'r' { on = 'x', run = function(e)\nif e.data.never then\ndecid('a', 1)\nleak = 2\nend\nend }")
    #expect(
      found == [
        "p/plugin.lua:4: there is no global 'decid'; did you mean 'decide'?",
        "p/plugin.lua:5: assigns the global 'leak'; declare it with 'local'",
      ])
  }

  @Test func `all syntax errors are found in tests and library too`() {
    let run = check([
      "rules/p/plugin.lua": "plugin { name = 'p' }\nlocal x = = 1", "rules/p/tests/t.lua": "test 'a' (",
      "rules/lib/l.lua": "return return", "rules/q/plugin.lua": "plugin { name = 'q' }\n\nif",
    ])
    #expect(run.exit == .no)
    for location in ["lib/l.lua:1:", "p/plugin.lua:2:", "p/tests/t.lua:1:", "q/plugin.lua:3:"] {
      #expect(run.output.contains(location), "\(run.output)")
    }
  }

  @Test func `all JSON files that are none are found, with their lines`() {
    let run = check([
      "rules/p/plugin.lua": "plugin { name = 'p' }", "rules/p/a.json": "{\n\"a\": 1,\n}", "rules/p/b.json": "",
      "rules/p/c.json": "[]",
    ])
    #expect(run.exit == .no)
    #expect(run.output.contains("p/a.json:3:") && run.output.contains("p/b.json:1:"), "\(run.output)")
    #expect(!run.output.contains("c.json"), "\(run.output)")
  }

  @Test func `unknown sinks are found where they are named`() {
    let found = findings(
      "rule 'r' { on = 'x', run = function()\nemit('mial', 't', {})\nemit('mail', 't')\nend }\nsink 'other' (function() end)\nsink 'mial' { anonymous = true }"
    )
    #expect(
      found == [
        "p/plugin.lua:3: plugin 'p' has no sink 'mial'; did you mean 'mail'?",
        "p/plugin.lua:6: plugin 'p' has no sink 'other'; it declares mail",
        "p/plugin.lua:7: plugin 'p' has no sink 'mial'; did you mean 'mail'?",
      ])
  }

  @Test(arguments: [
    "local e = emit rule 'r' { on = 'x', run = function()\ne('mial', 't')\nend }",
    "local function tell(sink, n) emit(sink, 't', { n = n }) end rule 'r' { on = 'x', run = function()\ntell('mial', 1) end }",
    "local SINK =\n'mial' rule 'r' { on = 'x', run = function() emit(SINK, 't') end }",
    "rule 'r' { on = 'x', run = function(event) emit(event.data.late and\n'mial' or 'mail', 't') end }",
    "local SINKS = { late =\n'mial' } rule 'r' { on = 'x', run = function() emit(SINKS.late, 't') end }",
  ])
  func `unknown sinks are found that variables and local functions pass on`(text: String) {
    #expect(findings(text) == ["p/plugin.lua:3: plugin 'p' has no sink 'mial'; did you mean 'mail'?"])
  }

  @Test func `a sink's table is checked`() {
    #expect(findings("sink 'mail' { anonymus = true }")[0].contains("did you mean 'anonymous'?"))
    #expect(findings("sink 'mail' {}")[0].contains("sink 'mail' has neither 'run' nor 'anonymous'"))
    #expect(findings("sink 'mail' { anonymous = 1 }")[0].contains("sink 'mail'.anonymous must be true or false"))
  }

  @Test func `rules that share a name are found each time`() {
    let rule = "rule 'r' { on = 'x', run = function() end }\n"
    #expect(
      findings(rule + rule + rule) == [
        "p/plugin.lua:3: rule 'r' is declared twice, first at p/plugin.lua:2",
        "p/plugin.lua:4: rule 'r' is declared twice, first at p/plugin.lua:2",
      ])
  }

  @Test func `rules that nothing can reach are found`() {
    let empty = findings("rule 'r' { on = {}, run = function() end }\nrule 's' { on = 'a*', run = function() end }")
    #expect(empty.count == 2)
    #expect(empty[0].hasPrefix("p/plugin.lua:2: rule 'r': 'on' is empty"))
    #expect(empty[1].hasPrefix("p/plugin.lua:3: rule 's': 'a*' is neither"))
    let run = check([
      "rules/p/plugin.lua": "plugin { name = 'p' }", "rules/p/more.lua": "rule 'r' { on = 'x', run = print }",
    ])
    #expect(run.output.contains("p/more.lua:1: "))
    #expect(run.exit == .no)
    let closed = findings("rule 'r' { on = 'x', run = function() end }", manifest: "sources = { 'a\\n' }")
    #expect(closed.first?.hasPrefix("p/plugin.lua:2: no event can reach rule 'r'") == true)
  }

  @Test func `wrong manifest keys name the nearest known one at their line`() {
    let run = check([
      "rules/p/plugin.lua":
        "plugin {\n  name = 'p',\n  settngs = {},\n  budjet = {},\n}\nrule 'r' {\n  on = 'x',\n  prio = 1,\n  run = function() end,\n}"
    ])
    #expect(run.output.contains("p/plugin.lua:3: plugin has no key 'settngs'; did you mean 'settings'?"))
    #expect(run.output.contains("p/plugin.lua:4: plugin has no key 'budjet'; did you mean 'budget'?"))
    #expect(run.output.contains("p/plugin.lua:8: rule 'r' has no key 'prio'"))
    #expect(run.output.contains("3 findings"))
  }

  @Test func `missing files and broken data are found`() {
    let run = check([
      "rules/p/plugin.lua": """
      plugin { name = 'p' }
      rule 'r' { on = 'x', run = function() return data('stmps.json') end }
      local read = data
      rule 's' { on = 'x', run = function() return read 'no.json' end }
      local NAME, names = 'figures', { days = 'days.json' }
      rule 't' { on = 'x', run = function() return data((NAME) .. '.js' .. 'on') end }
      rule 'u' { on = 'x', run = function() return data(names.days) end }
      """,
      "rules/p/stamps.json": "{\n\"a\": tru\n}", "rules/q/readme.txt": "no plugin",
    ])
    #expect(run.output.contains("p/plugin.lua:2: there is no 'stmps.json' in p/; did you mean 'stamps.json'?"))
    #expect(run.output.contains("p/plugin.lua:4: there is no 'no.json' in p/"))
    #expect(run.output.contains("p/plugin.lua:6: there is no 'figures.json' in p/"))
    #expect(run.output.contains("p/plugin.lua:7: there is no 'days.json' in p/"))
    #expect(run.output.contains("p/stamps.json:2: "))
    #expect(run.output.contains("q/plugin.lua: a folder under rules/ is a plugin"))
  }

  @Test(arguments: [
    ("decide('d', calendar.weekdy(now(), 'UTC'))", "calendar has no member 'weekdy'; did you mean 'weekday'?"),
    ("decide('d', json.stringify({}))", "json has no member 'stringify'; it has decode, encode, null"),
    ("decide('d', event.subjct)", "event has no 'subjct'; did you mean 'subject'?"),
    ("decide('d', settings.wrods)", "plugin 'p' has no setting 'wrods'; did you mean 'words'?"),
    (
      "state = { n = 1 }",
      "assigns the parameter 'state', which changes no state; change the table in place, as in state.name = value"
    ),
    ("decide('d', nil)", "decide without a value decides null; leave the call out, or decide json.null"),
    ("decide('d')", "decide without a value decides null"),
    ("print('hello')", "there is no global 'print': log.info(message) writes a line that names plugin, rule and event"),
    ("decide('d', os.time())", "there is no 'os.time': now() is the time of the event in epoch seconds"),
    ("decide('d', os.date('%Y'))", "there is no 'os.date': calendar.date(now(), zone) is a date"),
    ("io.write('x')", "there is no global 'io': a rule has no input and output"),
    ("math.randomseed(1)", "there is no 'math.randomseed': math.random is seeded by the event"),
    ("raise('hard')", "no rule listens to 'hard', which is raised here; did you mean 'heard'?"),
    ("send('user:2', 'told')", "no rule listens to 'told', which is sent here"),
    ("timer.set('t', now() + 1, 'ringing')", "no rule listens to 'ringing', for which a timer is set here"),
    ("local t = data('broken.json')", "is not JSON"),
  ])
  func `a mistake in a rule is found with its line and what to do`(statement: String, message: String) {
    let isData = statement.contains("broken.json")
    let run = check([
      "rules/p/plugin.lua": """
      plugin { name = 'p', settings = { words = 'hi' } }
      rule 'r' { on = 'x', run = function(event, state)
        log.info(settings.words)
        \(statement)
      end }
      rule 'h' { on = 'heard', run = function(event, state) state.n = event.data.n end }
      """,
      (isData ? "rules/p/broken.json" : "rules/p/words.json"): isData ? "{\n\"a\": tru\n}" : "[]",
      "rules/p/tests/t.lua": "test 'a' (function(t) t:event('user:1', 'x') end)",
    ])
    #expect(run.exit == .no)
    #expect(run.output.contains(message), "\(run.output)")
    #expect(
      run.output.contains(message.hasPrefix("is not") ? "p/broken.json:2: " : "p/plugin.lua:4: "), "\(run.output)")
  }

  @Test func `types that look like known ones, unused settings and unread decisions are found`() {
    let run = check([
      "rules/p/plugin.lua": """
      plugin { name = 'p', settings = {
        words = 'hi',
        unused = 1,
      } }
      rule 'r' { on = 'app.lauched', run = function() decide('greeting', settings.words) decide('other', 1) end }
      rule 's' { on = 'session.begun', run = function() end }
      """,
      "rules/p/tests/t.lua": """
      test 'a' (function(t) t:equal(t:event('user:1', 'app.launched').decisions.greeting, nil) end)
      test 'b' (function(t) t:event('user:1', 'session.begum') t:evnt('user:1', 'x') end)
      """,
    ])
    #expect(
      run.output.split(separator: "\n").map(String.init) == [
        "p/plugin.lua:3: nothing reads the setting 'unused'",
        "p/plugin.lua:5: note: no test reads the decision 'other'",
        "p/plugin.lua:5: rule 'r' listens to 'app.lauched', which nothing sends; did you mean 'app.launched'?",
        "p/plugin.lua:6: rule 's' listens to 'session.begun', which nothing sends; did you mean 'session.begum'?",
        "p/tests/t.lua:2: a test's t has no method 'evnt'; did you mean 'event'?",
        "1 plugin, 2 rules, 4 findings, 1 note",
      ], "\(run.output)")
  }

  @Test func `types that rules make and hear are noted until a description keeps them for rules`() {
    let rules =
      "rule 'r' { on = 'x', run = function() send('u', 'told', { n = 1 }) timer.every('t', {}, 'due', {}) end }\n"
    let heard = "rule 's' { on = { 'told', 'due' }, run = function() end }"
    let run = check(["rules/p/plugin.lua": "plugin { name = 'p' }\n\(rules)\(heard)"])
    #expect(run.exit == .done)
    #expect(run.output.contains("p/plugin.lua:2: note: a client can send 'told' as well, which is sent here"))
    #expect(run.output.contains("event \"due\" { from = \"rules\" }") && run.output.contains("2 notes"))
    let kept = "event 'told' { from = 'rules', n = 'integer' } event 'due' { from = 'rules' }"
    #expect(
      check(["rules/p/plugin.lua": "plugin { name = 'p' }\n\(rules)\(heard)\n\(kept)"]).output.contains("no findings\n")
    )
    let other = check([
      "rules/p/plugin.lua": "plugin { name = 'p' }\n\(kept)",
      "rules/q/plugin.lua": "plugin { name = 'q' }\n\nevent 'told' {}",
    ])
    #expect(
      other.exit == .no && other.output.contains("q/plugin.lua:3: event 'told' is described without from = \"rules\""))
    #expect(other.output.contains("p/plugin.lua:2 has"))
  }

  @Test func `notes alone are no failure`() {
    let run = check([
      "rules/p/plugin.lua": "plugin { name = 'p' } rule 'r' { on = 'x', run = function() decide('d', 1) end }",
      "rules/p/tests/t.lua": "test 'a' (function(t) t:event('user:1', 'x') end)",
    ])
    #expect(run.exit == .done)
    #expect(
      run.output == "p/plugin.lua:1: note: no test reads the decision 'd'\n1 plugin, 1 rule, no findings, 1 note\n")
  }

  @Test func `findings that are safe to mend are mended, and the rest stays`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = 'p', settings = { words = 'hi' } }
      rule 'r' { on = 'x', run = function(event, state)
        print('a' .. settings.wrds) state.day = calendar.weekdy(os.time(), 'UTC')
        decid('d', event.subjct)
        raise("hard")
        state = {}
      end }
      rule 'h' { on = 'heard', run = function() end }
      event 'heard' { from = 'rules' }
      """
    ])
    let mended = Run(words: ["check", folder.path, "--fix"])
    #expect(mended.exit == .no)
    #expect(mended.output.contains("p/plugin.lua:6: assigns the parameter 'state'"), "\(mended.output)")
    let again = Run(words: ["check", folder.path, "--fix"])
    #expect(again.output.hasSuffix("1 plugin, 2 rules, 1 finding\n"), "\(again.output)")
  }

  @Test func `SARIF has every finding with its rule, level and place`() throws {
    let folder = RulesFolderOnDisk(["p/plugin.lua": "plugin { name = 'p' }\nlocal x = calendar.weekdy\nreturn x"])
    let path = folder.path + "/out.sarif"
    #expect(Run(words: ["check", folder.path, "--sarif", path]).exit == .no)
    let file = try Input(path: path).readAll()
    let json = try JSONValue(parsing: String(decoding: file, as: UTF8.self))
    let result = json["runs"]?[0]?["results"]?[0]
    #expect(json["version"] == "2.1.0")
    #expect(result?["ruleId"] == "unknown-member" && result?["level"] == "error")
    #expect(result?["locations"]?[0]?["physicalLocation"]?["region"]?["startLine"] == 2)
  }

  @Test func `the configuration is held against the rules`() {
    let run = check(
      [
        "rules/greeter/plugin.lua": RulesFolderOnDisk.greeter,
        "conf.lua": """
        plugins = {
          greter = {},
          greeter = {
            wrds = "Hi",
          },
        }
        sinks = { mial = { log = true } }
        """,
      ], ["--config", "@conf.lua"])
    #expect(run.exit == .no)
    #expect(run.output.contains("conf.lua:2: there is no plugin 'greter'; did you mean 'greeter'?"))
    #expect(run.output.contains("conf.lua:4: plugin 'greeter' has no setting 'wrds'; did you mean 'words'?"))
    #expect(run.output.contains("conf.lua:7: no plugin has a sink 'mial'; did you mean 'mail'?"))
  }

  @Test func `an event's type in a setting is held against those that plugins describe`() {
    let shop = """
      plugin { name = 'shop', settings = { on = { 'order.paid' } } }
      event('order.paid', {}, { about = 'An order was paid.' })
      rule 'paid' { on = settings.on, run = function() decide('paid', true) end }
      """
    func run(_ type: String) -> Run {
      let conf = "plugins = { shop = {\n  on = { '\(type)' },\n} }\n"
      return check(["rules/shop/plugin.lua": shop, "conf.lua": conf], ["--config", "@conf.lua"])
    }
    let message =
      "conf.lua:2: by its setting 'on' plugin 'shop' listens to 'order.payd', which no plugin describes; did you mean 'order.paid'?"
    #expect(run("order.payd").output.contains(message), "\(run("order.payd").output)")
    #expect(!run("order.returned").output.contains("by its setting"))
  }

  @Test func `a setting that names a plugin is held against those that there are`() {
    let shop = "plugin { name = 'shop', settings = { game = 'none' } }\nsetting 'game' { type = 'plugin?' }\n"
    func run(_ game: String) -> Run {
      let files: KeyValuePairs = [
        "rules/greeter/plugin.lua": RulesFolderOnDisk.greeter, "rules/shop/plugin.lua": shop,
        "conf.lua": "plugins = { shop = {\n  game = '\(game)',\n} }\n",
      ]
      return check(files, ["--config", "@conf.lua"])
    }
    let message = "conf.lua:2: there is no plugin 'greter', which plugin 'shop' has as 'game'; did you mean 'greeter'?"
    #expect(run("greter").output.contains(message), "\(run("greter").output)")
    for game in ["greeter", "none", ""] { #expect(!run(game).output.contains("there is no plugin")) }
  }

  @Test func `the configuration is held against the host`() {
    let run = check(
      [
        "rules/greeter/plugin.lua": RulesFolderOnDisk.greeter,
        "conf.lua": """
        socket = "/tmp/ruled.sock"
        admins = { "no-such-user", "root", "@no-such-group" }
        http = {
          listen = "127.0.0.1:8787",
          token_file = "/no/such/token",
        }
        plugins = { greeter = {
          words = 3,
        } }
        sinks = { mail = {
          file = "/no/such/folder/mail.ndjson",
        } }
        """,
      ], ["--config", "@conf.lua"])
    #expect(run.exit == .no)
    #expect(run.output.contains("conf.lua:2: admins: this host has no user 'no-such-user'"))
    #expect(run.output.contains("conf.lua:2: admins: this host has no group '@no-such-group'"))
    #expect(run.output.contains("conf.lua:5: http.token_file: /no/such/token can't be read: No such file"))
    #expect(
      run.output.contains("conf.lua:8: the setting 'words' of plugin 'greeter' must be a string, as it is by default"))
    #expect(run.output.contains("conf.lua:11: sinks.mail.file: the folder /no/such/folder of"))
    #expect(run.output.contains("1 plugin, 3 rules, 5 findings"))
  }

  @Test func `a sink's certificate that TLS can't use is found`() {
    let run = check(
      [
        "rules/p/plugin.lua": "plugin { name = 'p', version = '1', sinks = { 'mail' } }\n",
        "conf.lua": """
        socket = "/tmp/ruled.sock"
        sinks = { mail = { url = "https://localhost/", cert = "/etc/hostname" } }
        """,
      ], ["--config", "@conf.lua"])
    #expect(run.exit == .no && run.output.contains("conf.lua:2: sinks.mail.cert: "), "\(run.output)")
    #expect(run.output.contains("/etc/hostname"))
  }

  @Test func `settings are held against what the plugin declares, its own and the configuration's`() {
    let plugin = """
      plugin { name = "p", version = "1", settings = { freezes = { every_days = 7 }, zone = "UTC" } }
      setting "zone" { type = "zone" }
      setting "app" { type = "url?" }
      setting "freezes.every_days" { type = "integer", min = 1 }
      rule "r" { on = "x", run = function() decide("d", { settings.freezes.every_days, settings.zone, settings.app }) end }
      """
    let configuration = """
      plugins = {
        p = {
          freezes = {
            every_days = 0,
          },
          zone = "Europe/Berln",
        },
      }
      """
    let run = check(["rules/p/plugin.lua": plugin, "conf.lua": configuration], ["--config", "@conf.lua"])
    #expect(run.exit == .no)
    #expect(
      run.output.contains(
        "conf.lua:4: the setting 'freezes.every_days' of plugin 'p' must be at least 1, not 0"), "\(run.output)")
    #expect(run.output.contains("conf.lua:6: the setting 'zone' of plugin 'p' must be the name of a time zone"))
    #expect(check(["rules/p/plugin.lua": plugin]).exit == .done)
    let wrong = check(["rules/p/plugin.lua": plugin.replacing("\"UTC\"", with: "\"Utopia\"")])
    #expect(wrong.exit == .no)
    #expect(wrong.output.contains("p/plugin.lua:2: the setting 'zone' of plugin 'p' must be"), "\(wrong.output)")
  }

  @Test func `unknown keys of the configuration have their line and the nearest name`() {
    let run = check(
      [
        "rules/greeter/plugin.lua": RulesFolderOnDisk.greeter,
        "conf.lua":
          "sokcet = \"/run/x\"\nlimits = {\n  connections = \"many\",\n  state_kb = 3,\n}\nlocal x = undefined_name\n",
      ], ["--config", "@conf.lua"])
    #expect(run.exit == .no)
    #expect(run.output.contains("conf.lua:6:"), "\(run.output)")
    let other = check(
      [
        "rules/greeter/plugin.lua": RulesFolderOnDisk.greeter,
        "conf.lua": "sokcet = \"/run/x\"\nlimits = {\n  connections = \"many\",\n  state_kb = 3,\n}\n",
      ], ["--config", "@conf.lua", "--json"])
    let found = (try? JSONValue(parsing: other.output))?["findings"]?.arrayValue ?? []
    #expect(found.map { $0["line"] } == [1, 3, 4])
    #expect(found.first?["message"] == "sokcet: unknown key; did you mean \"socket\"?")
  }
}

@Suite struct NewCommandTests {
  @Test func `a new plugin passes its tests and is clean`() {
    let folder = RulesFolderOnDisk([:])
    let made = Run(words: ["new", "welcome_2", "--rules", folder.path])
    #expect(made.exit == .done, "\(made.errors)")
    let test = Run(words: ["test", folder.path, "--threshold", "100"])
    #expect(test.exit == .done, "\(test.output)\(test.errors)")
    #expect(test.output.contains("2 tests passed"))
    let check = Run(words: ["check", folder.path])
    #expect(check.output == "1 plugin, 1 rule, no findings\n")
  }

  @Test func `editors get definitions and their settings`() throws {
    let folder = RulesFolderOnDisk([".luarc.json": "mine", ".definitions/ruled.lua": "old"])
    #expect(Run(words: ["new", "one", "--rules", folder.path]).exit == .done)
    let definitions = TemporaryFolder.read("\(folder.path)/.definitions/ruled.lua")
    for line in [
      "---@meta ruled", "function calendar.day(t, zone) end", "---@param zone string", "---@return integer",
      "function timer.set(name, when, type, data) end", "---@param data? table", "function rule(name) end",
      "function Test:event(subject, type, data, options) end", "---@return ruled.Outcome",
    ] { #expect(definitions.split(separator: "\n").contains { $0 == line }, "there is no line '\(line)'") }
    #expect(TemporaryFolder.read("\(folder.path)/.luarc.json") == "mine")
    let fresh = RulesFolderOnDisk([:])
    #expect(Run(words: ["new", "one", "--rules", fresh.path]).exit == .done)
    let settings = try? JSONValue(parsing: TemporaryFolder.read("\(fresh.path)/.luarc.json"))
    let library = try #require(InstalledLibrary.folder)
    #expect(settings?["workspace.library"] == [".definitions", .string(library)])
    #expect(settings?["runtime.path"]?.arrayValue?.last == .string("\(library)/?.lua"))
  }

  @Test func `existing files are not written over`() {
    let folder = RulesFolderOnDisk(["welcome/plugin.lua": "mine"])
    let run = Run(words: ["new", "welcome", "--rules", folder.path])
    #expect(run.exit == .failed)
    #expect(run.errors.contains("exists already"))
  }

  @Test(arguments: ["", "Big", "a-b", "1st", "../up", "lib", "a b", "é"]) func `bad names are refused`(name: String) {
    let folder = RulesFolderOnDisk([:])
    #expect(Run(words: ["new", "--rules", folder.path, "--", name]).exit == .failed)
  }
}
