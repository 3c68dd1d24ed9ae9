import RuledTool
import TestSupport
import Testing

/// Mistakes that `rulectl check` finds by what plugins describe, declare and call, beyond names that do not exist.
@Suite struct CheckMistakeTests {
  /// What `check` prints for a plugin `p` with the text, and a test.
  private func check(
    _ text: String, test: String = "t:event('user:1', 'x', { name = 'a' })", more: (String, String)? = nil
  ) -> Run {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": "plugin { name = 'p' }\n\(text)", "p/tests/t.lua": "test 'a' (function(t) \(test) end)",
    ])
    if let more { folder.write(more.0, more.1) }
    return withExtendedLifetime(folder) { Run(words: ["check", folder.path]) }
  }

  private static let described = """
    event("x", { name = "string", ["size?"] = { width = "integer" } })
    event("closed", { name = "string" }, { closed = true })
    rule "c" { on = "closed", run = function() end }

    """

  @Test func `a chain of or is read once, not once more for each of its parts`() {
    let chain = Array(repeating: "event.data.name == 'a'", count: 150).joined(separator: " or ")
    let run = check(Self.described + "rule 'r' { on = 'x', run = function(event) decide('a', \(chain)) end }")
    #expect(run.exit == .done, "\(run.output)")
  }

  @Test(arguments: [
    ("log.info(event.data.nmae)", "the data of 'x' has no member 'nmae'; did you mean 'name'?"),
    ("local data = event.data log.info(data['nam'])", "the data of 'x' has no member 'nam'; did you mean 'name'?"),
    ("raise('x', { nme = 'a' })", "the data of 'x' has no member 'nme'; did you mean 'name'?"),
    ("raise('closed', { name = 'a', other = 1 })", "the data of 'closed' has no member 'other'"),
    ("raise('closed')", "the data of 'closed' needs 'name', which is not given here"),
    ("send('user:2', 'closed', {})", "the data of 'closed' needs 'name', which is not given here"),
    ("timer.set('t', now() + 1, 'closed', { name = nil })", ""),
    ("log.info(event.data.name, { event.data.size.width, event.data.unheard_of })", ""),
    ("raise('closed', { [event.data.name] = 1 })", ""), ("raise('closed', event.data)", ""),
    ("raise('x', { name = 'a', more = 1 })", ""),
  ])
  func `data is read and given as events are described`(statement: String, message: String) {
    let run = check(Self.described + "rule 'r' { on = 'x', run = function(event)\n\(statement)\nend }")
    guard !message.isEmpty else {
      #expect(run.exit == .done, "\(run.output)")
      return
    }
    #expect(run.exit == .no)
    #expect(run.output.contains("p/plugin.lua:6: \(message)\n"), "\(run.output)")
  }

  @Test(arguments: [
    "local function seen(event)\nlog.info(event.data.nmae) end rule 'r' { on = 'x', run = seen }",
    "local seen = function(event)\nreturn event.data.nmae end rule 'r' { on = 'x', when = seen, run = function() end }",
    "local function name(n, event)\nreturn event.data.nmae end rule 'r' { on = 'x', run = function(e) log.info(name(1, e)) end }",
    "local function name(data)\nreturn data.nmae end rule 'r' { on = 'x', run = function(event) log.info(name(event.data)) end }",
    """
    local function last(event, n)
    if n == 0 then return event.data.nmae end return last(event, n - 1) end
    local function outer(event) local same = event return last(same, 3) end
    rule 'r' { on = 'x', run = function(event) log.info(outer(event)) end }
    """,
    "local function f(event)\nlog.info(event.data.nmae) end rule 'r' { on = 'x', run = f } rule 's' { on = 'closed', run = f }",
  ])
  func `reads of local functions from an event that they get are held against its description`(rules: String) {
    let run = check(Self.described + rules)
    #expect(run.exit == .no)
    #expect(run.output.contains("p/plugin.lua:6: the data of "), "\(run.output)")
    #expect(run.output.contains("has no member 'nmae'; did you mean 'name'?\n"), "\(run.output)")
  }

  @Test(arguments: [
    "local function f(event) return event.data.nmae end rule 'r' { on = 'x', run = function() f({ data = { nmae = 1 } }) end }",
    "local function f(e) return e.data.nmae end rule 'r' { on = 'x', run = function(e) f(e) f({ data = {} }) end }",
    "local function f(e) return e.data.nmae end rule 'r' { on = 'x', run = function(e) f(e) pcall(f, { data = {} }) end }",
    "local function f(e) return e.data.nmae end rule 'r' { on = 'x', run = f } rule 's' { on = 'y.*', run = f }",
    "local function f(e) return e.data.nmae end rule 'r' { on = 'x', run = f } rule 's' { on = 'unheard', run = f }",
    "local function f(e) e = { data = {} } return e.data.nmae end rule 'r' { on = 'x', run = f }",
    "local f function f(e) return e.data.nmae end rule 'r' { on = 'x', run = f }",
    "local function f(e) return e.data.nmae end f = function() end rule 'r' { on = 'x', run = f }",
    "local function f(n, e) return n, e.data.nmae end rule 'r' { on = 'x', run = f }",
    "local function f(data) return data.data.nmae end rule 'r' { on = 'x', run = function(e) f(e.data) f(e) end }",
    "rule 'r' { on = 'x', run = function(event) local data = event.data data = {} log.info(data.nmae) end }",
  ])
  func `nothing is said of arguments that a function may get from elsewhere`(rules: String) {
    let run = check(Self.described + rules)
    #expect(!run.output.contains("has no member 'nmae'"), "\(run.output)")
  }

  @Test func `a rule on several types may read what one of them has, and a type that nobody describes has anything`() {
    let rules = """
      event "other" { nome = "string" }
      rule 'r' { on = { 'x', 'other' }, run = function(event) log.info(event.data.nome) end }
      rule 's' { on = { 'x', 'undescribed' }, run = function(event) log.info(event.data.nmae) end }
      rule 't' { on = 'x.*', run = function(event) log.info(event.data.nmae) end }
      """
    #expect(check(Self.described + rules).exit == .done)
  }

  @Test func `a member that differs by one letter is mended`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = 'p' }
      event "x" { from = "rules", name = "string" }
      rule 'r' { on = 'x', run = function(event) log.info(event.data.nmae .. event.data["nam"]) timer.set('t', 60, 'x', event.data) end }
      """, "p/tests/t.lua": "test 'a' (function(t) t.event('user:1', 'x', { name = 'a' }) end)",
    ])
    let run = Run(words: ["check", folder.path, "--fix"])
    #expect(run.output == "1 plugin, 1 rule, no findings, 4 mended\n", "\(run.output)")
  }

  @Test func `nothing is mended that would be no Lua, and the finding stays`() {
    let text = """
      plugin { name = 'p', settings = { ["app-url"] = "x" } }
      event "p.went" { n = "integer", ["sku-no"] = "string" }
      state { version = 1, ["capped-visit"] = "integer?", ["end"] = "integer?", ["2nd_visit"] = "integer?", ["inner?"] = { ["for"] = "integer?" } }
      rule "r" { on = "p.went", run = function(event, state)
        state.capped_visit = 1
        state.edn = 2
        state.nd_visit = 3
        log.info(settings.app_url)
        log.info(event.data.sku_no)
        state.inner = { fro = 1 }
      end }

      """
    let folder = RulesFolderOnDisk(["p/plugin.lua": text])
    let run = Run(words: ["check", folder.path, "--fix"])
    #expect(run.exit == .no)
    for message in [
      "5: the plugin's state declares no member 'capped_visit'; did you mean 'capped-visit'?", "6: the plugin's state",
      "7: the plugin's state", "8: plugin 'p' has no setting 'app_url'",
      "9: the data of 'p.went' has no member 'sku_no'",
      "10: the plugin's state declares no member 'fro'",
    ] { #expect(run.output.contains("p/plugin.lua:\(message)"), "\(run.output)") }
    #expect(!run.output.contains("mended"), "\(run.output)")
    #expect(TemporaryFolder.read("\(folder.path)/p/plugin.lua") == text)
    folder.write("p/plugin.lua", text.replacing("state.nd_visit =", with: "state[\"nd_visit\"] ="))
    #expect(Run(words: ["check", folder.path, "--fix"]).output.contains("1 mended"))
    #expect(TemporaryFolder.read("\(folder.path)/p/plugin.lua").contains("state[\"2nd_visit\"] = 3"))
  }

  @Test func `a file that a fix would break is left alone`() {
    let text = """
      plugin { name = 'p' }
      state { version = 1, ['a"bc'] = "integer?" }
      rule "r" { on = "x", run = function(event, state) state["abc"] = 1 end }

      """
    let folder = RulesFolderOnDisk(["p/plugin.lua": text])
    let run = Run(words: ["check", folder.path, "--fix"])
    #expect(run.output.contains("declares no member 'abc'") && !run.output.contains("mended"), "\(run.output)")
    #expect(TemporaryFolder.read("\(folder.path)/p/plugin.lua") == text)
  }

  @Test func `a plugin with sources has its own events checked, and others are not held to its descriptions`() {
    let rules = { (sources: String, name: String, end: String) in
      """
      plugin { name = '\(name)'\(sources) }
      rule '\(name)' { on = 'p.went', run = function(event)
      log.info(event.data.nme)
      if event.data.n == "1" then return end
      raise("p.made", { n = 1, nme = "x" })
      raise("p.made", { n = 1 })
      raise("p.made", { n = "1", name = "x" })
      end }
      \(end)
      """
    }
    let events = """
      event "p.went" { n = "integer", name = "string" } event "p.made" { n = "integer", name = "string" }
      rule 'made' { on = 'p.made', run = function() end }
      """
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": rules(", sources = { 'app/*' }", "p", events), "q/plugin.lua": rules("", "q", ""),
    ])
    let run = Run(words: ["check", folder.path])
    for message in [
      "3: the data of 'p.went' has no member 'nme'; did you mean 'name'?",
      "4: compares event.data.n, a number, with \"1\", a string",
      "5: the data of 'p.made' has no member 'nme'; did you mean 'name'?",
      "6: the data of 'p.made' needs 'name', which is not given here",
      "7: the data of 'p.made' has 'n' as integer, and a string is given here",
    ] { #expect(run.output.contains("p/plugin.lua:\(message)\n"), "\(run.output)") }
    #expect(!run.output.contains("q/plugin.lua:3") && !run.output.contains("q/plugin.lua:5"), "\(run.output)")
  }

  private static let typed = """
    event("x", { name = "string", note = "string?", n = "integer", loose = "any?", ["items?"] = { { price = "number" } } })
    event("loose", { n = "integer" }, { checked = false })
    state { version = 1, open = "integer?", who = "string?", ["list?"] = { { n = "integer", name = "string" } } }
    query "q" { args = { limit = "integer?" }, run = function(state, args) return { (state and state.open or 0) + (args.limit or 1) } end }
    rule "loose" { on = "loose", run = function(event) if event.data.n == "1" then return end end }

    """

  @Test(
    arguments: [
      ("count('p.n', event.data.name)", "count: 'labels' must be a table, and a string is given here"),
      ("count('p.n', {}, event.data.note)", "count: 'n' must be a number, and a string is given here"),
      (
        "local data = event.data local note = data.note board.add('b', note)",
        "board.add: 'n' must be a number, and a string is given here"
      ),
      (
        "state.open = event.data.name", "state.open is declared as integer, and gets event.data.name, which is a string"
      ),
      ("state.who = event.data.n", "state.who is declared as string, and gets event.data.n, which is a number"),
      (
        "raise('x', { name = event.data.n, n = 1 })", "the data of 'x' has 'name' as string, and a number is given here"
      ),
      ("log.info(event.sender.id)", "event.sender is a string and has no member 'id'"),
      ("log.info(event.data.name.first)", "event.data.name is a string and has no member 'first'"),
      ("count('p.n', {}, state.who)", "count: 'n' must be a number, and a string is given here"),
      ("board.set('b', state.who)", "board.set: 'score' must be a number, and a string is given here"),
      (
        "timer.set('t', state.who, 'loose', { n = 1 })",
        "timer.set: 'when' must be a number, and a string is given here"
      ),
      ("for _, one in ipairs(state.list) do board.set('b', one.name) end", "board.set: 'score' must be a number"),
      ("for _, one in ipairs(state.who) do log.info(one) end", "ipairs: 'list' must be a table, and a string is given"),
      ("local function set(n) board.set('b', n) end set(state.who) set(state.who)", "board.set: 'score' must be a"),
      ("log.info(state.who.first)", "state.who is a string and has no member 'first'"),
      ("log.info(state.who + 1)", "state.who is a string, which takes no '+'"),
      ("log.info(settings.zone * 2)", "settings.zone is a string, which takes no '*'"),
      ("log.info(-event.data.name)", "event.data.name is a string, which takes no '-'"),
      ("log.info(event.data .. 'a')", "event.data is a table, which takes no '..'"),
      ("log.info(#event.data.n)", "event.data.n is a number, which takes no '#'"),
      ("for i = 1, state.who do log.info(i) end", "state.who is a string, which takes no 'for'"),
      ("if state.open == state.who then return end", "compares state.open, a number, with state.who, a string"),
      (
        "state.who = (state.open or 0) + 1", "state.who is declared as string, and gets (state.open or 0) + 1, which is"
      ),
      ("raise('x', { name = state.open, n = 1 })", "the data of 'x' has 'name' as string, and a number is given here"),
      (
        "raise('x', { name = 'a', n = 1, items = { { price = '1' } } })",
        "the data of 'x' has 'items[].price' as number, and a string is given here"
      ),
      ("log.info(event.data.items[1].prize)", "the data of 'x' has no member 'prize'; did you mean 'price'?"),
      ("log.info(settings.steps[1].nmae)", "settings.steps[] has no member 'nmae'; did you mean 'name'?"),
      ("for _, step in ipairs(settings.steps) do board.add('b', step.name) end", "board.add: 'n' must be a number"),
      ("count('p.n', {}, settings.mail)", "count: 'n' must be a number, and a string is given here"),
      ("log.info(settings.zone.name)", "settings.zone is a string and has no member 'name'"),
      ("log.info(now().day)", "now() is a number and has no member 'day'"),
      (
        "log.info(calendar.date(settings.zone, 'UTC'))",
        "calendar.date: 't' must be a number, and a string is given here"
      ),
      ("if event.data.n ~= '1' then return end", "compares event.data.n, a number, with '1', a string"),
      (
        "if event.data.n == event.data.name then return end", "compares event.data.n, a number, with event.data.name, a"
      ),
      ("table.insert({})", "table.insert needs 'value or position', which is not given here"),
      ("table.insert({}, 1, 2, 3)", "table.insert takes 3 (list, value or position, value), and 4 are given here"),
      ("log.info(table.concat())", "table.concat needs 'list', which is not given here"),
      ("for _ in ipairs() do return end", "ipairs needs 'list', which is not given here"),
      ("count('p.n', {}, tonumber(event.data.name)) state.open = event.data.n board.add('b', event.data.loose)", nil),
      ("table.insert({}, 1, 2) table.insert({}, (event.data.name:gsub('a', 'b'))) log.info(tostring(1, 2))", nil),
      ("table.insert(event.data.name:gsub('a', 'b'))", nil), ("log.info(event.data.name.upper)", nil),
      ("log.info(state.open + 1 .. state.who .. #state.who, { -state.open, settings.unsure + 1 })", nil),
      ("local function set(n) board.set('b', n) end set(state.who) set(1)", nil),
      ("local n = event.data.name n = 1 count('p.n', {}, n) log.info(settings.id.any, settings.free.any)", nil),
    ] as [(String, String?)])
  func `a value of a type that is declared is held against what gets it`(statement: String, message: String?) {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = 'p', settings = { zone = 'UTC', id = '', free = {}, steps = {}, unsure = '' } }
      setting 'steps' { type = { { at = 'integer', name = 'string' } } } setting 'mail' { type = 'string?' }
      setting 'unsure' { type = 'integer?' }
      \(Self.typed)rule 'r' { on = 'x', run = function(event, state) log.info(settings.zone, { settings, state.who })
      \(statement)
      end }
      """
    ])
    let run = Run(words: ["check", folder.path])
    guard let message else {
      #expect(run.exit == .done, "\(run.output)")
      return
    }
    #expect(run.output.contains("p/plugin.lua:10: \(message)"), "\(run.output)")
    #expect(run.exit == .no && run.output.contains("1 finding"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("count('p.n', { code = event.data.code })", "the label 'code' is any text that a client sends, and each makes"),
      (
        "count('p.n', { code = text.lower(event.data.code or '') })", "the label 'code' is any text that a client sends"
      ),
      ("local who = event.subject count('p.n', { who = who })", "the label 'who' has values without bound"),
      ("count('p.n', { who = tostring(event.subject) })", "the label 'who' has values without bound"),
      ("count('p.' .. event.subject)", "the name has values without bound, and each makes another counter"),
      (
        "count('p.' .. event.data.code, {})", "the name is any text that a client sends, and each makes another counter"
      ),
      ("board.add('b:' .. event.subject, 1)", "the name has values without bound, and each makes another board"),
      ("board.set(event.data.code, 1)", "the name is any text that a client sends, and each makes another board"),
      (
        "if once('seen:' .. event.id) then decide('a', 1) end", "the key is another one each time, and is kept for ever"
      ),
      ("if once(now() .. 'a') then decide('a', 1) end", "the key is another one each time, and is kept for ever"),
      ("if event.data.code == 'a' then count('p.n', { code = event.data.code }) end", nil),
      ("count('p.n', { code = event.data.number, kept = 'a' })", nil),
      ("board.set(event.data.code, 1, { keep = '30d' }) count('p.n', { code = settings.codes[event.data.code] })", nil),
      ("if once('seen:' .. event.id, 60) or once(event.data.code) then decide('a', 1) end", nil),
    ] as [(String, String?)])
  func `names and labels without bound, and keys that nothing asks for again, are noted`(
    statement: String, message: String?
  ) {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = 'p', settings = { codes = { a = 'a' } } }
      event("x", { code = "string?", number = "integer?" }) event("told", { from = "rules", code = "string" })
      rule 'told' { on = 'told', run = function(event) count('p.told', { code = event.data.code }) end }
      rule 'r' { on = 'x', run = function(event) log.info(settings.codes.a) raise('told', { code = 'a' })
      \(statement)
      end }
      """
    ])
    let run = Run(words: ["check", folder.path])
    #expect(run.exit == .done, "\(run.output)")
    #expect(run.output.contains(message.map { "p/plugin.lua:5: note: \($0)" } ?? "no findings\n"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("send('p.told', 'user:1')", "", "send takes the subject first, then the type of the event"),
      ("send('p.told', event.subject, { n = 1 })", "", "send takes the subject first, then the type of the event"),
      ("publish('p.told', 'news')", "", "publish takes the topic first, then the type of the event"),
      ("", "t:event('p.told', 'user:1')", "t:event takes the subject first, then the type of the event"),
      ("send('user:1', 'p.told') send('p.told', 'x')", "t:event('user:1', 'x') t:event('user:1', 'unheard')", nil),
    ] as [(String, String, String?)])
  func `a type in the place of the subject or the topic is found`(statement: String, test: String, message: String?) {
    let run = check(
      "event 'p.told' { from = 'rules' }\nrule 't' { on = 'p.told', run = function() topic.join('news') end }\n"
        + "rule 'r' { on = 'x', run = function(event) log.info(event.subject)\n\(statement)\nend }", test: test)
    guard let message else {
      #expect(run.exit == .done, "\(run.output)")
      return
    }
    let place = test.isEmpty ? "p/plugin.lua:5" : "p/tests/t.lua:1"
    #expect(run.output.contains("\(place): \(message)\n") && !run.output.contains("no rule listens"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("", "", true), ("raise('p.other')", "", true), ("send('user:2', 'p.' .. 'other')", "", true),
      ("send('user:2', plugin.name .. '.told')", "", false), ("local t = timer t.set('t', now(), 'p.told')", "", false),
      ("local function tell(what) raise('p.' .. what) end tell('told') tell('other')", "", false),
      ("local function tell(what) raise('p.' .. what) end tell('other')", "", true),
      ("raise('p.' .. event.data.what)", "", false), ("raise('q.' .. event.data.what)", "", true),
      ("raise(event.data.what)", "", false), ("", "t:event('user:1', 'p.told', {}, { internal = true })", false),
    ])
  func `a rule on a type that only rules can make and that none makes is found`(
    statement: String, test: String, isFound: Bool
  ) {
    let run = check(
      "event 'p.told' { from = 'rules' }\nrule 't' { on = 'p.told', run = function() end }\n"
        + "rule 'o' { on = { 'p.other', 'q.*' }, run = function() end } event 'p.other' {}\n"
        + "rule 'r' { on = 'x', run = function(event) log.info(event.subject)\n\(statement)\nend }", test: test)
    let message = "p/plugin.lua:3: rule 't' listens to 'p.told', which only rules can make, and none makes it\n"
    #expect(run.output.contains(message) == isFound, "\(run.output)")
    #expect(run.exit == (isFound ? .no : .done), "\(run.output)")
  }

  @Test(
    arguments: [
      (
        "setting 'pionts.*' { type = 'integer' }", "'pionts.*' is about nothing in the settings; did you mean 'points'?"
      ),
      ("setting 'wallet.most' { type = 'integer' }", "'wallet.most' is about nothing in the settings"),
      ("setting 'zone_of' { type = 'zone?' }", "'zone_of' is about nothing in the settings"),
      ("setting 'points.reviw' { type = 'integer?' }", "'points.reviw' is about nothing in the settings; did you mean"),
      ("setting 'points.*' { type = 'integer' } setting 'points.other' { type = 'integer?' }", nil),
      ("setting 'free.*' { type = 'integer' } setting 'free.any.at' { type = 'integer' }", nil),
      ("setting 'app_url' { type = 'url?' } query 'u' (function() return { settings.app_url } end)", nil),
    ] as [(String, String?)])
  func `a declaration about no setting is found`(declaration: String, message: String?) {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = 'p', settings = { points = { review = 1 }, free = {} } }
      \(declaration)
      query 'q' (function() return { settings.points, settings.free } end)
      """
    ])
    let run = Run(words: ["check", folder.path])
    let text = message.map { "p/plugin.lua:2: setting \($0)" } ?? "no findings\n"
    #expect(run.output.contains(text), "\(run.output)")
  }

  @Test(arguments: [
    (
      "local function who()\nreturn event.subject end",
      "there is no event here; give the function the parameter 'event'"
    ),
    ("rule 's' { on = 'x', run = function()\nreturn rule.name end }", "'rule' is a function and has no members"),
    ("rule 's' { on = 'x', run = function()\nreturn query.name end }", "'query' is a function and has no members"),
    (
      "local list = {} rule 's' { on = 'x', run = function()\nif #list then return end end }",
      "a length is always true, also 0; write #list > 0"
    ),
    (
      "local list rule 's' { on = 'x', run = function()\nfor _, one in list or {} do log.info(one) end end }",
      "a table is no iterator; write in ipairs(list or {}), or pairs(…)"
    ),
  ])
  func `code that fails at run time, or is always true, is found`(text: String, message: String) {
    let run = check("rule 'r' { on = 'x', run = function() end } \(text)")
    #expect(run.output.contains("p/plugin.lua:3: \(message)\n"), "\(run.output)")
  }

  @Test(arguments: [
    (
      "state { version = 1, ['session?'] = { ['over?'] = 'boolean' } }",
      "'over?' ends in '?'; write over = \"boolean?\""
    ),
    ("state { version = 1, ['l?'] = { { ['m?'] = 'integer' } } }", "'m?' ends in '?'; write m = \"integer?\""),
    ("event 'y' { a = { ['b?'] = 'integer' } }", "'b?' ends in '?'; write b = \"integer?\""),
    (
      "query 'q' { args = { ['c?'] = 'integer' }, run = function() return 1 end }",
      "'c?' ends in '?'; write c = \"integer?\""
    ),
    (
      "state { version = 1, ['*'] = 'number' }",
      "'*' is a name here and no pattern; a table with any members is \"object\""
    ),
  ])
  func `names of members that are meant as a pattern or as optional are found at every depth`(
    text: String, message: String
  ) {
    let run = check("\(text) rule 'r' { on = 'x', run = function() end }")
    #expect(run.exit == .no && run.output.contains(message), "\(run.output)")
  }

  @Test(arguments: [
    ("when = function(event) local _ = event.data.name == 'a' end", true),
    ("when = function(event) if event.data.name then return end end", true),
    ("when = function() local function never() return true end never() end", true),
    ("when = function(event) if event.data.name then return true end end", false),
    ("when = function(event) return event.data.name == 'a' end", false),
  ])
  func `a condition that returns nothing is found`(when: String, isFound: Bool) {
    let run = check("rule 'r' { on = 'x', \(when), run = function() end }")
    let message = "p/plugin.lua:2: 'when' returns nothing, so the rule never runs; return the condition\n"
    #expect(run.output.contains(message) == isFound, "\(run.output)")
  }

  @Test(
    arguments: [
      ("rule 'r' { on = 'x', run = function(state)\nstate.n = 1 end }", "gets event, state, in this order"),
      ("local function f(state)\nlog.info(state.n) end rule 'r' { on = 'x', run = f }", "gets event, state, in this"),
      (
        "query 'q' { args = { n = 'integer' }, run = function(args)\nreturn { args.n } end }",
        "gets state, args, in this order"
      ),
      ("rule 'r' { on = 'x', run = function(state)\nlog.info(state.data) end }", nil),
      ("query 'q' { args = { n = 'integer' }, run = function(args)\nreturn { args.other } end }", nil),
    ] as [(String, String?)])
  func `a parameter that stands alone and is used as the second one is found`(text: String, message: String?) {
    let run = check(text)
    #expect(run.output.contains(message.map { "p/plugin.lua:2: \($0)" } ?? "no findings\n"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("query 'q' (function(state) local w = state.w add(w) return { w } end)", "a query's state"),
      ("query 'q' (function(state) own.twice(state.w) return {} end)", "a query's state"),
      ("query 'q' (function(_, args) add({}) add(args) return {} end)", "a query's arguments"),
      ("rule 'r' { on = 'x', run = function(event) add(event.data) end }", "the event"),
      ("local list = {} rule 'r' { on = 'x', run = function() add(list) end }", "a table of the file"),
      ("web 'a.example' (function(request) add(request.headers) return { status = 200 } end)", "a request"),
      ("rule 'r' { on = 'x', run = function(_, state) add(state) own.copy(state) end }", nil),
      ("query 'q' (function(state) add(own.copy(state)) own.copied(state) return {} end)", nil),
    ] as [(String, String?)])
  func `a change of what is frozen is found in functions that get it`(text: String, what: String?) {
    let run = check(
      """
      local own = {}
      local function add(s, n)
      s.x = n
      end
      function own.twice(s) if s then own.twice(s.inner) end add(s) end
      function own.copy(s) return { x = s.x } end
      function own.copied(s) s = own.copy(s) s.x = 1 return s end
      local _ = own
      \(text)
      """)
    let message = what.map { "p/plugin.lua:4: \($0) can't be changed; change the state, or a copy\n" }
    #expect(run.output.contains(message ?? "no findings"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("local s = event.data.name or 'a' log.info(s:uper())", "s is a string and has no member 'uper'"),
      (
        "log.info(event.data.name:uper())",
        "event.data.name is a string and has no member 'uper'; did you mean 'upper'?"
      ),
      ("log.info(('a' .. event.data.name):lenn())", "did you mean 'len'?"),
      ("log.info(event.time:floor())", "event.time is a number and has no member 'floor'"),
      ("log.info(event.data.name:upper(), { event.data.unheard_of:uper() })", nil),
      ("local t = {} function t:uper() return self end log.info(t:uper())", nil),
    ] as [(String, String?)])
  func `a method is found that a text does not have`(statement: String, message: String?) {
    let run = check(Self.described + "rule 'r' { on = 'x', run = function(event)\n\(statement)\nend }")
    #expect(run.output.contains(message ?? "no findings"), "\(run.output)")
    #expect(run.exit == (message == nil ? .done : .no))
  }

  @Test func `the method of a text is mended`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": "plugin { name = 'p' } rule 'r' { on = 'x', run = function(event) log.info(event.id:uper()) end }"
    ])
    #expect(Run(words: ["check", folder.path, "--fix"]).output.contains("no findings, 1 mended"))
    #expect(TemporaryFolder.read("\(folder.path)/p/plugin.lua").contains("event.id:upper()"))
  }

  @Test func `a timer's number of seconds is no time`() {
    let run = check("rule 'r' { on = 'x', run = function() timer.set('t', 3600, 'x') end }")
    #expect(
      run.output.contains("a timer is due at epoch seconds, and 3600 is in the past; write now() + 3600"),
      "\(run.output)")
  }

  @Test func `a test's method called with a dot is found`() {
    let run = check("rule 'r' { on = 'x', run = function() end }", test: "t:equal(t.event('user:1', 'x').version, 1)")
    #expect(
      run.output.contains("p/tests/t.lua:1: a test's methods are called with a colon: t:event(…)\n"), "\(run.output)")
  }

  @Test func `several mistakes on one line are all found`() {
    let run = check("rule 'r' { on = 'x', run = function(_, state)\nstate = { at = os.time() } k = 1\nend }")
    for message in ["assigns the parameter 'state'", "there is no 'os.time'", "assigns the global 'k'"] {
      #expect(run.output.contains("p/plugin.lua:3: \(message)"), "\(run.output)")
    }
  }

  @Test func `types that rules listen to are not judged where a plugin does not load`() {
    let run = check(
      "local t = data('t.json')\nrule 'r' { on = 'x', run = function() raise('y') end }\nrule 's' { on = 'y', run = function() end }",
      more: ("p/t.json", "{\n  \"a\": 1,\n}"))
    #expect(!run.output.contains("no rule listens"), "\(run.output)")
    #expect(run.output.contains("p/t.json:3: is not JSON from column 1 on\n"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("cafe.quiet", nil), ("cafe.gift.receivd", "cafe.gift.received"), ("cafe.stamp", "cafe.stamped"),
      ("cafee.gift", "cafe.gift"),
    ] as [(String, String?)])
  func `a type that nothing listens to names one that is near in the differing part`(type: String, near: String?) {
    let heard = ["cafe.gift", "cafe.stamped", "cafe.gift.received"].map { "'\($0)'" }.joined(separator: ", ")
    let run = check(
      "rule 'h' { on = { \(heard) }, run = function() end }\nrule 'r' { on = 'x', run = function() raise('\(type)') end }"
    )
    let hint = near.map { "; did you mean '\($0)'?" } ?? ""
    #expect(
      run.output.contains("p/plugin.lua:3: no rule listens to '\(type)', which is raised here\(hint)\n"),
      "\(run.output)")
  }
}
