import Glibc
import RuledTool
import TestSupport
import Testing

/// Mistakes in calls that `rulectl check` finds: arguments, members of modules, names of plugins, timers and settings, and locals.
@Suite struct CheckCallTests {
  private static let manifest = """
    plugin { name = 'p', settings = { caps = { daily = 3, of = {} }, free = {} } }
    local outbox = require 'outbox'
    query 'q' (function() return { settings.caps.daily, settings.free } end)
    """

  private static let outbox = """
    local outbox = {}
    function outbox.drop(name, reason) local names = {} names.x = 1 return "dropped " .. name .. (reason or "") end
    function outbox.all(...) return ... end
    outbox.keep = function(item) if item then return item.name end end
    outbox.most = 3
    return outbox
    """

  /// What `check` prints for a rule with that statement on line 5 of the plugin `p`, which has the module `outbox`.
  private func check(_ statement: String, _ more: KeyValuePairs<String, String> = [:]) -> Run {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      \(Self.manifest)
      rule 'r' { on = 'x', run = function(event, state) local t, other = event.time, outbox.most log.info(t, other)
      \(statement)
      end }
      """,
      "p/outbox.lua": Self.outbox, "p/tests/t.lua": "test 'a' (function(t) t:event('user:1', 'x') end)",
      "loyalty/plugin.lua": "plugin { name = 'loyalty' }",
    ])
    for (name, text) in more { folder.write(name, text) }
    return withExtendedLifetime(folder) { Run(words: ["check", folder.path]) }
  }

  @Test(arguments: [
    ("log.info(calendar.hour(t))", "calendar.hour needs 'zone', which is not given here: calendar.hour(t, zone)"),
    ("log.info(peek('loyalty', 'user:2'))", "peek takes 1 (plugin), and 2 are given here"),
    ("log.info(now(1))", "now takes no argument, and 1 is given here"),
    ("log.info(pick({ a = -1, b = 2 }, bucket('c')))", "a weight is a number from 0 on"),
    ("log.info(pick({ a = 0, b = 0 }, bucket('c')))", "the weights must have a sum above 0"),
    (
      "local free = { '2025-12-25', '2025-02-30' } log.info(calendar.workday(1, free))",
      "'2025-02-30' is no date like \"2025-12-25\""
    ),
    (
      "if event.origin == 'clinet' then return end",
      "event.origin is never \"clinet\"; did you mean 'client'?"
    ),
    ("forget { pst = true }", "forget has no 'pst'; did you mean 'past'?"),
    ("forget { all = true, past = true }", "forget takes all or past, not both"),
    ("once()", "once needs 'key', which is not given here: once(key, seconds)"),
    ("log.info(semver.compare('1.0.0'))", "semver.compare needs 'b', which is not given here: semver.compare(a, b)"),
    (
      "local v = '1' .. '.2' log.info(semver.compare(v, 'v1.2.0'))",
      "semver.compare: \"1.2\" is no version such as \"1.2.0\""
    ),
    (
      "log.info(ip.within(event.data.ip, '10.0.0.0/99'))",
      "ip.within: \"10.0.0.0/99\" is no block of addresses such as \"10.0.0.0/8\""
    ),
    ("log.info(ip.within('10.1.2', '10.0.0.0/8'))", "ip.within: \"10.1.2\" is no address such as \"10.1.2.3\""),
    ("log.info(outbox.dropp('x'))", "module 'outbox' has no member 'dropp'; did you mean 'drop'?"),
    ("log.info(outbox.else_thing)", "module 'outbox' has no member 'else_thing'; it has all, drop, keep, most"),
    ("log.info(require('outbox').kepe)", "module 'outbox' has no member 'kepe'; did you mean 'keep'?"),
    ("outbox.drop()", "outbox.drop needs 'name', which is not given here: outbox.drop(name, reason)"),
    ("outbox.keep(1, 2)", "outbox.keep takes 1 (item), and 2 are given here"),
    ("local function f(a) return a end f(1, 2)", "f takes 1 (a), and 2 are given here"),
    ("log.info(peek('loyality'))", "there is no plugin 'loyality' for peek; did you mean 'loyalty'?"),
    ("timer.cancel('remind')", "timer.cancel of 'remind', which nothing sets"),
    (
      "timer.set('remind', t, 'x') timer.cancel('remnd')",
      "timer.cancel of 'remnd', which nothing sets; did you mean 'remind'?"
    ),
    ("log.info(settings.caps.dayly)", "settings.caps has no member 'dayly'; did you mean 'daily'?"),
    ("local caps = settings.caps log.info(caps.monthly)", "settings.caps has no member 'monthly'"),
    ("log.info(xpcall(require, error, 'outbox'))", "note: what is required here is not checked; call require directly"),
    ("local load = require log.info(load 'outbox')", "note: what is required here is not checked"),
    ("log.info(require('out' .. 'box'))", "note: what is required here is not checked"),
    ("local unread = 1", "note: nothing reads the local 'unread'"),
    ("local function unread() end", "note: nothing reads the local 'unread'"),
    ("local unread unread = 1", "note: nothing reads the local 'unread'"),
    ("if t != 1 then end", "'then' expected near '!'; '!=' is written ~="),
    ("state.n += 1", "syntax error near '+'; 'a += b' is written a = a + b"),
    ("for _, v in ipairs({}) do if v then continue end end", "'continue' is written goto continue"),
    ("if t && state.n then end", "unexpected symbol near '&'; '&&' is written and"),
    ("if t || state.n then end", "unexpected symbol near '|'; '||' is written or"),
    ("if !t then end", "unexpected symbol near '!'; '!' is written not"),
    ("state.n++", "'a++' is written a = a + 1"), ("state.n = t ? 1 : 2", "'a ? b : c' is written a and b or c"),
    ("++state.n", "'a++' is written a = a + 1"), ("state.n = state.n++ + 1", "'a++' is written a = a + 1"),
    ("if t === 1 then end", "near '='; '===' is written =="), ("if t <> 1 then end", "near '>'; '<>' is written ~="),
    ("if t =< 1 then end", "near '='; '=<' is written <="), ("state.n = t ** 2", "'a ** b' is written a ^ b"),
    ("state.n := 1", "near '='; 'a := b' is written a = b"),
    ("state.n ||= 1", "near '|'; 'a ||= b' is written a = a or b"), ("if t==!t then end", "'!' is written not"),
    ("if t!=-1 then end", "'!=' is written ~="), ("state.n ..= 'x'", "'a ..= b' is written a = a .. b"),
    ("state.n = t ?? 1", "'a ?? b' is written a or b"), ("state.n = t?.n", "'a?.b' is written a and a.b"),
    ("state.n = [1, 2]", "unexpected symbol near '['; '[1, 2]' is written { 1, 2 }"),
    ("log.info(text.find_re('a', '('))", "text.find_re's pattern is wrong: missing ): ("),
  ])
  func `a mistake is found with its line`(statement: String, message: String) {
    let run = check(statement)
    #expect(run.output.contains("p/plugin.lua:5: ") && run.output.contains(message), "\(run.output)")
    #expect(run.exit == (message.hasPrefix("note") ? .done : .no))
  }

  @Test(arguments: [
    ("state.n--\nlog.info('x')", "p/plugin.lua:6: syntax error near 'log'; 'a--' is written a = a - 1"),
    ("if t then log.info('x')\nelse if t then log.info('y') end", "'else if' at line 6 is written elseif"),
  ])
  func `a mistake that ends a later line is found`(statement: String, message: String) {
    let run = check(statement)
    #expect(run.exit == .no && run.output.contains(message), "\(run.output)")
  }

  @Test(arguments: [
    "outbox.drop('a') outbox.drop('a', 'b') outbox.drop(outbox.all()) outbox.all(1, 2, 3) outbox.keep()",
    "log.info(calendar.hour(outbox.all(t, 'UTC'))) log.info(text.trim(' '), { uuid(), settings.caps.of.any })",
    "timer.set('remind:' .. t, t, 'x') timer.cancel('remind:1') log.info(timer.due('remind:2'))",
    "timer.set(event.data.name, t, 'x') timer.cancel('any')", "log.info(settings.free.any, settings.caps[t])",
    "local caps = settings.caps caps = {} log.info(caps.any)", "local _, b = outbox.all() log.info(b)",
    "local function f(a, b) return type(a) == 'string' and #a or b end f() f(1, 2)",
    "local function f(a) local function g() return f(a) end return g end f(f)", "log.info(peek('loyalty'))",
    "local f = function() end f = outbox.all f(1)", "local w = { a = 0 } w.a = t log.info(pick(w, bucket('c')))",
    "log.info(pick({ a = 0, b = settings.caps.daily }, bucket('c')), event.origin == 'raise')",
    "decide('k', outbox.all())",
  ])
  func `nothing is said of code that may be right`(statement: String) {
    let run = check(statement)
    #expect(run.exit == .done && !run.output.contains("nothing reads the local"), "\(run.output)")
  }

  @Test(arguments: [
    "local m = setmetatable({}, { __index = function() end }) return m", "local m = {} fill(m) return m",
    "local m = {} m[name] = 1 return m", "return { [1] = 2 }", "return function() end", "return other",
    "local m = {} m.__index = m return m", "local m = {} if x then m = y end return m",
  ])
  func `nothing is said of a module whose members its text does not tell`(module: String) {
    let text =
      "local fill, name, other, x, y = function() end, 'a', {}, nil, {}\nlocal _ = { fill, name, other, x, y }\n"
    let run = check("log.info(outbox.unknown)", ["p/outbox.lua": text + module])
    #expect(!run.output.contains("has no member"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("{ cap = {} }", "module 'outbox' has no option 'cap'; did you mean 'caps'?"),
      ("{ caps = { { n = 1, secnds = 2 } } }", "option 'caps' of module 'outbox' has no member 'secnds'; did you mean"),
      ("{ caps = { n = 1 } }", "option 'caps' of module 'outbox' has no member 'n'; it is a list"),
      (
        "{ kinds = { mail = { { m = 1 } } } }",
        "option 'kinds.mail' of module 'outbox' has no member 'm'; it has n, sec"
      ),
      ("{ quiet = { form = 1 } }", "option 'quiet' of module 'outbox' has no member 'form'; did you mean 'from'?"),
      (
        "{ quiet = { zone = { nam = 'a' } } }",
        "option 'quiet.zone' of module 'outbox' has no member 'nam'; did you mean 'name'?"
      ),
      ("{ caps = {}, kinds = { any = { { n = 1 } } }, quiet = { from = 1 }, send = { any = 1 }, most = 3 }", nil),
    ] as [(String, String?)])
  func `an option of a module is found that it does not have, also within another option`(
    options: String, message: String?
  ) {
    let run = check(
      "log.info(outbox.due(state, \(options), t))",
      [
        "p/outbox.lua": """
        local hours, NONE, outbox = require 'hours', {}, { most = 1 }
        local function free(kept, caps)
          for _, cap in ipairs(caps or NONE) do if kept.n < cap.n then return cap.seconds end end
        end
        function outbox.due(kept, options, at)
          if options.most and kept.n > options.most then return end
          log.info('sends', options.send)
          return free(kept, options.caps) or free(kept, options.kinds[at]) or hours.after(options.quiet, at)
        end
        return outbox
        """,
        "p/hours.lua": """
        local hours = {}
        function hours.within(span, at) return span.zone.name .. at end
        function hours.after(span, at) return span.from .. hours.within(span, at) end
        return hours
        """,
      ])
    guard let message else {
      #expect(!run.output.contains("module 'outbox'"), "\(run.output)")
      return
    }
    #expect(run.output.contains("p/plugin.lua:5: \(message)"), "\(run.output)")
  }

  @Test(.enabled(if: access("docs/library", F_OK) == 0, "runs in the repository"))
  func `check knows each documented option of the library's modules`() {
    var options: [String: Set<String>] = [:], rules = ""
    for name in TemporaryFolder.names("docs/library").sorted() {
      let module = String(name.dropLast(".md".count)),
        lines = TemporaryFolder.read("docs/library/\(name)").split(separator: "\n")
      let cells = lines.drop { !$0.hasPrefix("| setting") }.dropFirst(2).prefix { $0.hasPrefix("|") }.map {
        $0.split(separator: "|")[0]
      }
      let calls = lines.filter { $0.hasPrefix("| `") }.flatMap { $0.matches(of: /`(\w+\.\w+)\((.*?)\)`/) }
      guard !cells.isEmpty, let call = calls.first(where: { $0.2.contains("options") }) else { continue }
      options[module] = Set(cells.flatMap { $0.matches(of: /`(\w+)`/).map { String($0.1) } })
      let arguments = call.2.split(separator: ", ").map { $0 == "options" ? "{ unheard_of = 1 }" : "state" }.joined(
        separator: ", ")
      rules += "log.info(require('\(module)').\(call.1.split(separator: ".")[1])(\(arguments)))\n"
    }
    #expect(options.count == 7)
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": "plugin { name = 'p' } rule 'r' { on = 'x', run = function(_, state)\n\(rules)end }"
    ])
    let output = withExtendedLifetime(folder) { Run(words: ["check", folder.path]).output }
    for (module, documented) in options {
      let finding = output.split(separator: "\n").first { $0.contains("module '\(module)' has no option 'unheard_of'") }
      let known = finding?.split(separator: "; it has ").last?.split(separator: ", ").map(String.init) ?? []
      #expect(documented.isSubset(of: known), "\(module): \(output)")
    }
  }

  @Test(
    arguments: [
      ("outbox.keep(1, c.own)", "module 'outbox' has no option 'zne'; did you mean 'zone'?"),
      ("local own = c.own outbox.keep(1, own)", "module 'outbox' has no option 'zne'; did you mean 'zone'?"),
      ("c.own = { zone = 'UTC' } outbox.keep(1, c.own)", nil), ("outbox.keep(c) outbox.keep(1, c.own)", nil),
      ("timer.every('e', c.spec, 'x')", "timer.every has no 'secnds'; did you mean 'seconds'?"),
      ("board.add('b', c.name)", "board.add: 'n' must be a number, and a string is given here"),
      ("c.name = 1 board.add('b', c.name)", nil),
    ] as [(String, String?)])
  func `a member of a table that always has it is held against its use, as an option too`(
    statement: String, message: String?
  ) {
    let run = check(
      "local c = { own = { zne = 'UTC' }, spec = { secnds = 1 }, name = 'a' } \(statement)",
      ["p/outbox.lua": "return { most = 3, keep = function(n, options) return options and n .. options.zone end }"])
    #expect(run.output.contains(message.map { "p/plugin.lua:5: \($0)" } ?? "no findings"), "\(run.output)")
  }

  @Test func `an option in a setting is noted if it resembles one of the module that gets the setting`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = "p", settings = { keep = { zne = "UTC", about = 1, quiet = { fro = 1 } }, other = { zne = 1 } } }
      local outbox, KEEP = require "outbox", settings.keep
      rule "r" { on = "x", run = function()
        decide("kept", { outbox.keep(KEEP), outbox.keep(settings.keep), settings.other.zne, settings.keep.about })
      end }
      """,
      "p/outbox.lua":
        "return { keep = function(options) return options.zone .. (options.quiet and options.quiet.from or '') end }",
    ])
    let run = Run("check", folder.path)
    #expect(run.exit == .done, "\(run.output)")
    let notes = run.output.split(separator: "\n").filter { $0.contains("outbox") }
    #expect(
      Set(notes) == [
        "p/plugin.lua:1: note: module 'outbox' has no option 'zne'; did you mean 'zone'?",
        "p/plugin.lua:1: note: option 'quiet' of module 'outbox' has no member 'fro'; did you mean 'from'?",
      ], "\(run.output)")
  }

  @Test func `a module of the library requires those of the library, whatever the plugin has under their names`() {
    let run = check(
      "log.info(require('outer').name())",
      [
        "p/inner.lua": "local inner = {} function inner.own() return 1 end return inner",
        "lib/inner.lua": "local inner = {} function inner.name() return 'x' end return inner",
        "lib/outer.lua": "local inner = require 'inner' return { name = function() return inner.name() end }",
      ])
    #expect(!run.output.contains("has no member"), "\(run.output)")
  }

  @Test func `queries and handlers that change something are found, also through local functions`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = 'p', sinks = { 'mail' } }
      local function note(name) count('p.' .. name) end
      local function outer() note('a') end
      web 'a.example' (function(request) outer() return { status = 200, body = request.path } end)
      sink 'mail' (function(effect) once(effect.id) return { url = 'https://a.example' } end)
      query 'q' { run = function(state)
        timer.cancel('x')
        return state
      end }
      rule 'r' { on = 'x', run = function() outer() timer.set('x', now(), 'x') end }
      event 'x' { from = 'rules' }
      """
    ])
    let run = Run(words: ["check", folder.path])
    #expect(
      run.output.split(separator: "\n").dropLast().map(String.init) == [
        "p/plugin.lua:2: a web handler can't call 'count', which changes something",
        "p/plugin.lua:5: a sink handler can't call 'once', which changes something",
        "p/plugin.lua:7: a query can't call 'timer.cancel', which changes something",
      ], "\(run.output)")
  }

  /// What `check` prints for the plugin `p` from line 3 on, which has the module `outbox`.
  private func findings(_ text: String, outbox: String, _ more: KeyValuePairs<String, String> = [:]) -> [String] {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua":
        "plugin { name = 'p', sinks = { 'mail' } } event 'x' { from = 'rules' }\nlocal outbox = require 'outbox'\n\(text)",
      "p/outbox.lua": outbox,
    ])
    for (name, text) in more { folder.write(name, text) }
    let run = withExtendedLifetime(folder) { Run(words: ["check", folder.path]) }
    return run.output.split(separator: "\n").dropLast().map(String.init)
  }

  @Test func `calls that the host refuses in handlers, steps, checks of settings and files that load are found`() {
    let found = findings(
      """
      web 'a.example' (function(request)
      log.info(counters(''), bucket('b'))
      log.info(bucket('b', request.path), now()) log.info(uuid(), peek('p')) log.info(topic.count('t'))
      return { status = 200, body = outbox.name() } end)
      sink 'mail' (function(effect)
      return { url = board.rank('b', effect.id) } end)
      state { version = 2 }
      migrate { [2] = { up = function(old) log.info(now())
      once('a')
      old.id = uuid()
      old.count = board.count('b')
      old.other = peek('p')
      return old end } }
      rule 'r' { on = 'x', run = function() topic.join('t') board.set('b', 1) raise('x')
      event 'y' {}
      end }
      setting 'zone' { type = 'string?', check = function(value)
      return value ~= peek('p') end }
      local function late() return now() end
      if outbox.name() == 'b' then late() end
      """, outbox: "local outbox = {} function outbox.name() return 'a' end return outbox")
    #expect(
      found == [
        "p/plugin.lua:4: a web handler can't call 'counters', which only queries can",
        "p/plugin.lua:4: bucket needs a key here, as there is no subject",
        "p/plugin.lua:5: a web handler can't call 'topic.count', which only queries can",
        "p/plugin.lua:8: a sink handler can't call 'board.rank', which only queries can",
        "p/plugin.lua:11: a step of a migration can't call 'once', which changes something",
        "p/plugin.lua:12: a step of a migration can't call 'uuid', as it gets the state alone",
        "p/plugin.lua:13: a step of a migration can't call 'board.count', which only queries can",
        "p/plugin.lua:14: a step of a migration can't call 'peek', as it gets the state alone",
        "p/plugin.lua:17: a rule can't call 'event', which works only while a file loads",
        "p/plugin.lua:19: setting 'zone' is about nothing in the settings",
        "p/plugin.lua:20: the check of a setting can't call 'peek', as there is no event",
        "p/plugin.lua:21: a file that loads can't call 'now', as there is no event",
      ], "\(found.joined(separator: "\n"))")
  }

  @Test func `forbidden calls are found in members of tables and in functions of modules`() {
    let found = findings(
      """
      local own, drop = { last = function() once('l') end }, outbox.drop
      function own.note() count('p.n') end
      own.twice = function() count('p.a') end
      own.twice = function() end
      function own:method() emit('mail', 'm') end
      query 'q' (function() own.note() own.last() own.twice() own:method()
      drop('a')
      outbox:keep()
      outbox.fine()
      return require('outbox').deep() end)
      rule 'r' { on = 'x', run = function() outbox.drop('a') own.note() raise('x') end }
      """,
      outbox: """
        local deep = require 'deep'
        local function inner(name) timer.cancel(name) end
        local outbox = { deep = function() return deep.down() end }
        function outbox.drop(name) inner(name) end
        function outbox:keep() send('user:1', 'x', self) end
        function outbox.fine() return function() return now() end end
        return outbox
        """,
      ["lib/deep.lua": "return { down = function()\nforget()\nend }"])
    #expect(
      found.filter { !$0.contains("note:") && !$0.contains("which nothing sets") } == [
        "p/plugin.lua:3: a query can't call 'once', which changes something",
        "p/plugin.lua:4: a query can't call 'count', which changes something",
        "p/plugin.lua:7: a query can't call 'emit', which changes something",
        "p/plugin.lua:9: a query can't call 'timer.cancel', which changes something (p/outbox.lua:2)",
        "p/plugin.lua:10: a query can't call 'send', which changes something (p/outbox.lua:5)",
        "p/plugin.lua:12: a query can't call 'forget', which changes something (lib/deep.lua:2)",
      ], "\(found.joined(separator: "\n"))")
  }

  @Test func `a line has a hundred findings at most, and a message lists fifty names`() {
    let run = check((0..<150).map { "outbox.x\($0)()" }.joined(separator: " "))
    #expect(run.output.contains("2 plugins, 1 rule, 100 findings"), "\(run.output)")
    let wrong = (0..<150).map { "event('e\($0)', { n = 'int' })" }.joined(separator: " ")
    #expect(findings(wrong, outbox: Self.outbox).count { $0.hasPrefix("p/plugin.lua:3: ") } == 100)
    let many = "return { " + (10..<70).map { "name\($0) = 1" }.joined(separator: ", ") + " }"
    let found = findings("query 'q' (function() return { outbox.other } end)", outbox: many)
    let names = (10..<60).map { "name\($0)" }.joined(separator: ", ")
    #expect(found.contains { $0.hasSuffix("it has \(names), …") }, "\(found)")
  }

  @Test func `counters that no plugin counts are found, unless one counts names that are not known`() {
    let text = """
      rule 'r' { on = 'x', run = function() raise('x') count('coffee.done') end }
      query 'q' (function() return { #counters('x'), #counters('x.'), #counters('cof'), #counters('shop.'), counters() } end)
      query 'r' (function() return { #counters('shp.'), #counters('cofee.') } end)
      """
    func found(_ name: String) -> [String] {
      findings(
        text, outbox: Self.outbox,
        ["q/plugin.lua": "plugin { name = 'q' }\nrule 'r' { on = 'x', run = function(e) count(\(name)) end }"]
      ).filter { $0.contains("counters") }
    }
    #expect(
      found("'shop.paid'") == [
        "p/plugin.lua:4: counters of 'x', which nothing counts",
        "p/plugin.lua:4: counters of 'x.', which nothing counts",
        "p/plugin.lua:5: counters of 'shp.', which nothing counts; did you mean 'shop.'?",
        "p/plugin.lua:5: counters of 'cofee.', which nothing counts; did you mean 'coffee.'?",
      ])
    let slip = "p/plugin.lua:5: counters of 'cofee.', which nothing counts; did you mean 'coffee.'?"
    #expect(found("e.type") == [slip] && !found("'cofee.paid'").contains(slip))
  }

  @Test func `forbidden calls are found in functions that pcall and xpcall call`() {
    let found = findings(
      """
      local function note() count('p.n') end
      local function tell() emit('mail', 'm') end
      query 'q' (function() log.info(pcall(note))
      log.info(pcall(once, 'a'))
      log.info(xpcall(outbox.drop, tell, 'a'))
      return { pcall(log.info, 'a') } end)
      rule 'r' { on = 'x', run = function() log.info(pcall(note), pcall(tell)) raise('x') end }
      local function late() return now() end
      local _ = { pcall(late), pcall(function() return uuid() end) }
      """,
      outbox: """
        local outbox = {}
        function outbox.drop(name) timer.cancel(name) timer.set(name, 1, 'x') end
        return outbox
        """)
    #expect(
      found.filter { !$0.contains("note:") && $0.contains("can't call") } == [
        "p/plugin.lua:3: a query can't call 'count', which changes something",
        "p/plugin.lua:4: a query can't call 'emit', which changes something",
        "p/plugin.lua:6: a query can't call 'once', which changes something",
        "p/plugin.lua:7: a query can't call 'timer.cancel', which changes something (p/outbox.lua:2)",
        "p/plugin.lua:7: a query can't call 'timer.set', which changes something (p/outbox.lua:2)",
        "p/plugin.lua:10: a file that loads can't call 'now', as there is no event",
        "p/plugin.lua:11: a file that loads can't call 'uuid', as there is no event",
      ], "\(found.joined(separator: "\n"))")
  }

  @Test func `changes of what is frozen are found in modules, and of their tables`() {
    let found = findings(
      """
      local held, list = outbox.held, outbox.list
      local function safely(state) log.info(pcall(outbox.add, state)) end
      query 'p' (function(state) safely(state) return {} end)
      query 'q' (function(state) outbox.add(state)
      outbox.note('a')
      return { outbox.copy(state) } end)
      rule 'r' { on = 'x', run = function(event, state) outbox.add(event.data)
      outbox.most = 4
      held.n = 1
      table.insert(list, 1)
      require('outbox').list[1] = 2
      outbox.add(state) outbox.copy(event).n = 1 raise('x') end }
      outbox.held.n = 0
      """,
      outbox: """
        local outbox, seen = { held = {}, list = {}, most = 3 }, {}
        local deep = require 'deep'
        function outbox.add(s) s.n = 1 deep.sort(s) end
        function outbox.note(name) seen[name] = true end
        function outbox.copy(s) return { n = s.n } end
        return outbox
        """, ["p/deep.lua": "return { sort = function(s)\ntable.sort(s)\nend }"])
    let ends = "can't be changed; change the state, or a copy"
    #expect(
      found.filter { $0.contains(ends) } == [
        "p/plugin.lua:4: a query's state \(ends) (p/outbox.lua:3)",
        "p/plugin.lua:4: a query's state \(ends) (p/deep.lua:2)",
        "p/plugin.lua:6: a query's state \(ends) (p/outbox.lua:3)",
        "p/plugin.lua:6: a query's state \(ends) (p/deep.lua:2)",
        "p/plugin.lua:7: a table of the file \(ends) (p/outbox.lua:4)",
        "p/plugin.lua:9: the event \(ends) (p/outbox.lua:3)", "p/plugin.lua:9: the event \(ends) (p/deep.lua:2)",
        "p/plugin.lua:10: a table of the module 'outbox' \(ends)",
        "p/plugin.lua:11: a table of the module 'outbox' \(ends)",
        "p/plugin.lua:12: a table of the module 'outbox' \(ends)",
        "p/plugin.lua:13: a table of the module 'outbox' \(ends)",
      ], "\(found.joined(separator: "\n"))")
  }

  @Test(
    arguments: [
      ("outbox.read()", nil, ["own", "written"]), ("outbox:read() log.info(outbox['own'])", nil, ["written"]),
      ("for _, name in ipairs { 'own', 'read' } do outbox[name]() end", nil, []),
      ("local all = outbox for _, f in pairs(all) do f() end", nil, []),
      ("outbox.read() log.info(pcall(outbox.written))", "t:equal(require('outbox').own(), 1)", []),
      ("local function again(n) if n > 0 then again(n - 1) end end outbox.read()", nil, ["own", "written", "again"]),
    ] as [(String, String?, [String])])
  func `functions that nothing calls are noted`(statement: String, test: String?, unused: [String]) {
    let found = findings(
      "rule 'r' { on = 'x', run = function() raise('x') \(statement) end }",
      outbox: """
        local outbox = { own = function() return 1 end, most = 3 }
        function outbox.read() return 1 end
        outbox.written = function() return { own = outbox.most } end
        outbox.__index = outbox.most
        return outbox
        """, test.map { ["p/tests/t.lua": "test 'a' (function(t) \($0) end)"] } ?? [:])
    let messages = unused.map { name in
      name == "again"
        ? "p/plugin.lua:3: note: nothing reads the local 'again'"
        : "p/outbox.lua:\(name == "own" ? 1 : 3): note: nothing calls this function of the module 'outbox'"
    }
    #expect(found.filter { $0.contains("note:") } == messages, "\(found.joined(separator: "\n"))")
  }

  @Test(
    arguments: [
      ("local o = { kep = '30d' } count('p.x', {}, 1, o)", "count has no 'kep'; did you mean 'keep'?"),
      ("local s = { seconds = -1 } timer.every('e', s, 'x')", "timer.every: seconds is a number from 1"),
      ("local z = 'Europe/Berln' log.info(calendar.day(t, z))", "unknown time zone \"Europe/Berln\""),
      (
        "local b, c = 'week', 'wek' board.set(b, 1) board.leave(c)",
        "board.leave of 'wek', on which nothing places a subject; did you mean 'week'?"
      ),
      (
        "local function set(b) board.set(b, 1) end set('week') board.leave('wek')",
        "board.leave of 'wek', on which nothing places a subject; did you mean 'week'?"
      ),
      (
        "local names = { all = 'news' } topic.join(names.all) topic.leave('nws')",
        "topic.leave of 'nws', which nothing joins; did you mean 'news'?"
      ),
      ("local b = 'week' board.set(b, 1) board.leave('week') local o = { keep = '1d' } board.set(event.id, 1, o)", nil),
      (
        "local function set(b) board.set(b .. t, 1) end set('week') board.leave('week1') board.set(event.id, 1, other)",
        nil
      ),
    ] as [(String, String?)])
  func `options and names are found in locals as well`(statement: String, message: String?) {
    let run = check(statement)
    #expect(run.output.contains(message.map { "p/plugin.lua:5: \($0)" } ?? "no findings"), "\(run.output)")
  }

  // MARK: Types

  /// What `check` prints of rules on `coffee.refundet` and more, with tests.
  private func types(_ more: String, test: String = "", options: [String] = []) -> (
    run: Run, rules: String, tests: String
  ) {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": "plugin { name = 'p' }\nrule 'r' { on = 'coffee.refundet', run = function() end }\n\(more)",
      "p/tests/t.lua": "test 'a' (function(t) t:event('user:1', 'x') \(test) end)",
    ])
    let run = Run(words: ["check", folder.path] + options)
    func read(_ path: String) -> String {
      (try? Input(path: "\(folder.path)/\(path)").readAll()).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
    return withExtendedLifetime(folder) { (run, read("p/plugin.lua"), read("p/tests/t.lua")) }
  }

  @Test(arguments: [
    "event 'coffee.refunded' { n = 'integer' }", "rule 's' { on = 'coffee.refunded', run = function() end }",
  ])
  func `a type that nothing else knows is blamed on the rule, without tests too`(more: String) {
    let message = "p/plugin.lua:2: rule 'r' listens to 'coffee.refundet', which nothing sends"
    let run = types(more).run
    #expect(run.output.contains("\(message); did you mean 'coffee.refunded'?\n"), "\(run.output)")
    #expect(run.exit == .no)
  }

  @Test func `types that differ in a digit are taken for what they are`() {
    let levels = (1...2).map { "rule 'l\($0)' { on = 'level.\($0)', run = function() end }\n" }.joined()
    #expect(!types(levels).run.output.contains("level."), "\(types(levels).run.output)")
  }

  @Test func `a typo in a rule is not blamed on its test, and not spread to it`() {
    let (run, rules, tests) = types("", test: "t:event('user:1', 'coffee.refunded')", options: ["--fix"])
    #expect(run.output.contains("p/plugin.lua:2: rule 'r' listens to 'coffee.refundet'"), "\(run.output)")
    #expect(!run.output.contains("p/tests/t.lua"), "\(run.output)")
    #expect(rules.contains("coffee.refundet") && tests.contains("coffee.refunded"))
  }

  @Test func `a typo in a test is mended where more than one rule knows the type`() {
    let (run, _, tests) = types(
      "event 'coffee.refundet' { n = 'integer?' }", test: "t:event('user:1', 'coffee.refunded')", options: ["--fix"])
    #expect(run.exit == .done, "\(run.output)")
    #expect(tests.contains("'coffee.refundet'"))
  }
}
