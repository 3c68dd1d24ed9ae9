/// The host's library for rules beside Lua's own, as editors, pages and checks describe it.
///
/// A test compares it with the globals of a VM and calls each example, so that it can't differ from the bridge.
package enum RuleLibrary {
  /// The functions, in the order of the page on rules.
  package static let functions: [LibraryFunction] = {
    let lines = text.split(separator: "\n")
    return stride(from: 0, to: lines.count, by: 2).map { function(lines[$0], lines[$0 + 1]) }
  }()

  /// Members of the tables that are no functions, by their name with the table: the type and a description.
  package static let constants: [(name: String, type: String, about: String)] = [
    ("json.null", "lightuserdata", "A null, which a table can hold."),
    ("plugin.name", "string", "The plugin's name."), ("plugin.version", "string", "The plugin's version."),
    ("settings", "table<string, any>", "The plugin's settings, frozen."),
  ]

  /// Functions of Lua's own library that fail without an argument, for checks.
  package static let ofLua = [
    ("table.insert", "list: table; value or position: any; value: any?", ""),
    ("table.remove", "list: table; position: any?; ...: any?", "any"),
    ("table.concat", "list: table; ...: any?", "string"),
    ("ipairs", "list: table; ...: any?", "any ..."), ("pairs", "table: table; ...: any?", "any ..."),
    ("tostring", "value: any; ...: any?", "string"), ("tonumber", "value: any; ...: any?", "number?"),
    ("type", "value: any; ...: any?", "string"), ("string.format", "format: any; ...: any?", "string"),
    ("math.floor", "x: any; ...: any?", "number"), ("math.max", "x: any; ...: any?", "number"),
    ("math.min", "x: any; ...: any?", "number"),
  ].map { LibraryFunction($0, $1, $2, "", example: "") }

  /// The functions that declare something while a file loads.
  package static let declarations = [
    "plugin", "setting", "event", "state", "migrate", "rule", "query", "web", "sink", "test", "require",
  ]

  /// The functions of one table, such as `calendar`.
  package static func members(of table: String) -> [String] {
    functions.filter { $0.table == table }.map { String($0.name.dropFirst(table.count + 1)) }
      + constants.filter { $0.name.hasPrefix(table + ".") }.map { String($0.name.dropFirst(table.count + 1)) }
  }

  package static var tables: [String] {
    functions.compactMap(\.table).reduce(into: []) { found, table in if !found.contains(table) { found.append(table) } }
  }

  /// The function that two lines of `text` describe.
  private static func function(_ call: Substring, _ about: Substring) -> LibraryFunction {
    let parts = call.split(maxSplits: 2, omittingEmptySubsequences: false) { "()".contains($0) }.map(String.init)
    let place = places.keys.first { about.contains(" \($0): ") } ?? "rule"
    let texts = about.drop { $0 == " " }.split(separator: " \(place): ", maxSplits: 1).map(String.init)
    return LibraryFunction(
      parts[0], parts[1], String(parts[2].dropFirst(4)), texts[0], example: texts[1], in: places[place] ?? .rules)
  }

  /// Where functions may be called, as `text` says it.
  private static let places: [String: Set<LibraryFunction.Phase>] = [
    "rule": .rules, "query": .queries, "evaluation": .evaluations, "call": .calls, "anywhere": .anywhere,
  ]

  /// For each function a line with its parameters and results, and one with its purpose, where it may be called, and an example.
  private static let text = """
    decide(key: string; value: any)
      Puts a value into the reply's decisions; the first to decide a key wins. rule: decide("screen", "welcome")
    emit(sink: string; type: string; data: table?; options: { key: string?, id: string? }?) -> string
      Records an effect with the commit, which its sink delivers; gives its id. \
    rule: emit("client", "greeting", { to = "x" }, { key = "k" })
    count(name: string; labels: table<string, string|number|boolean>?; n: number?; options: { keep: string? }?)
      Adds to a counter that all subjects share; it is removed when it is not counted for so long. \
    rule: count("t.sent", { platform = "ios" }, 2, { keep = "400d" })
    log.debug(message: string; fields: table?)
      Writes a line to the log, for those who look for a fault. call: log.debug("greeted", { n = 1 })
    log.info(message: string; fields: table?)
      Writes a line to the log. call: log.info("greeted")
    log.warn(message: string; fields: table?)
      Writes a warning to the log. call: log.warn("odd")
    log.error(message: string; fields: table?)
      Writes an error to the log. call: log.error("bad")
    raise(type: string; data: table?)
      Raises an event for the same subject in the same commit. rule: raise("streak.grown", { days = 3 })
    send(subject: string; type: string; data: table?)
      Sends an event to another subject: durable, applied exactly once, in order per pair. \
    rule: send("user:7", "friend.joined", { who = event.subject })
    timer.set(name: string; when: number; type: string; data: table?)
      Lets an event reach this subject at a time in epoch seconds; the same name replaces the timer. \
    rule: timer.set("remind", now() + 3600, "reminder.due", { n = 1 })
    timer.every(name: string; spec: { seconds: number?, daily: true?, weekly: integer?, monthly: integer?, at: string?, zone: string? }; \
    type: string; data: table?)
      Lets an event reach this subject again and again, by a schedule; the same name replaces the timer. \
    rule: timer.every("digest", { weekly = 1, at = "09:00", zone = "Europe/Berlin" }, "digest.due")
    timer.cancel(name: string)
      Removes a timer. rule: timer.cancel("remind")
    timer.due(name: string) -> number?
      When a timer is due in epoch seconds, or nil. evaluation: timer.due("remind")
    topic.join(name: string)
      Makes this subject a member of the plugin's topic. rule: topic.join("news")
    topic.leave(name: string)
      Ends the membership; what is on its way to the subject does not arrive. rule: topic.leave("news")
    topic.joined(name: string) -> boolean
      Whether this subject is a member of the plugin's topic. evaluation: topic.joined("news")
    topic.count(name: string) -> integer
      How many members the plugin's topic has; in queries only. query: topic.count("news")
    publish(topic: string; type: string; data: table?; options: { except: string? }?)
      Sends an event to every subject that is a member of the plugin's topic when this event commits. \
    rule: publish("news", "news.came", { id = 7 }, { except = event.subject })
    once(key: string; seconds: number?) -> boolean
      True the first time for this subject and plugin, and again after so many seconds. rule: once("w", 60)
    peek(plugin: string) -> table?
      Another plugin's state of this subject before this event, frozen; or nil. evaluation: peek("gamification")
    forget(options: { all: boolean?, past: boolean? }?)
      Erases this plugin's state, timers, once keys, memberships and places of this subject; all of it; or all but these of any plugin. \
    rule: forget { all = true }
    counters(prefix: string?; most: integer?) -> { name: string, labels: table, value: number }[]
      The committed counters whose name begins so, or nil if there are more than `most`; in queries only. query: counters("t.", 100)
    board.set(name: string; score: number; options: { keep: string?, low: boolean? }?)
      Gives this subject a score on a board of the plugin; keep removes the board so long after its last change, low has the least first. \
    rule: board.set("week", 12, { keep = "30d" })
    board.add(name: string; n: number; options: { keep: string?, low: boolean? }?)
      Adds to this subject's score on a board, which is 0 before. rule: board.add("week", 2)
    board.leave(name: string)
      Takes this subject off a board. rule: board.leave("week")
    board.top(name: string; n: integer; from: integer?) -> { subject: string, score: number, rank: integer }[]
      The first n places of a board, or those from a rank on; in queries only. query: board.top("week", 10)
    board.rank(name: string; subject: string) -> integer?
      The rank of a subject, or nil; in queries only. query: board.rank("week", "user:7")
    board.around(name: string; subject: string; n: integer) -> { subject: string, score: number, rank: integer }[]
      A subject's place with n on each side; in queries only. query: board.around("week", "user:7", 2)
    board.count(name: string) -> integer
      How many subjects are on a board; in queries only. query: board.count("week")
    now() -> number
      The time of the event's evaluation in epoch seconds. call: now()
    calendar.day(t: number; zone: string) -> integer
      A count of civil days; subtract two to get days between. anywhere: calendar.day(0, "Europe/Berlin")
    calendar.date(t: number; zone: string) -> string
      The date, like 2025-11-10. anywhere: calendar.date(0, "Europe/Berlin")
    calendar.start(day: integer; zone: string) -> number
      The epoch second when that day begins there. anywhere: calendar.start(0, "Europe/Berlin")
    calendar.month(t: number; zone: string) -> string
      The month, like 2025-11. anywhere: calendar.month(0, "Europe/Berlin")
    calendar.week(t: number; zone: string) -> string
      The week of ISO 8601, like 2025-W46. anywhere: calendar.week(0, "Europe/Berlin")
    calendar.at(day: integer; time: string; zone: string) -> number
      The epoch second when the clocks there show that time, like 09:00, on that day. anywhere: calendar.at(0, "09:00", "Europe/Berlin")
    calendar.add(t: number; amount: { years: integer?, months: integer?, weeks: integer?, days: integer?, hours: number?, minutes: \
    number?, seconds: number? }; zone: string) -> number
      The time that much later; months and days keep the time of day. anywhere: calendar.add(0, { months = 1 }, "Europe/Berlin")
    calendar.hour(t: number; zone: string) -> integer
      The hour, 0 to 23. anywhere: calendar.hour(0, "UTC")
    calendar.weekday(t: number; zone: string) -> integer
      The weekday, 1 for Monday to 7 for Sunday. anywhere: calendar.weekday(0, "UTC")
    calendar.workday(day: integer; holidays: string[]?) -> boolean
      Whether the day is one from Monday to Friday, and its date none of the holidays. anywhere: calendar.workday(0, { "1970-01-01" })
    calendar.known(zone: any) -> boolean
      Whether there is a time zone of that name. anywhere: calendar.known("Europe/Berlin")
    calendar.parse(text: string) -> number?
      The epoch seconds of a time in RFC 3339, or nil. anywhere: calendar.parse("2025-11-10T08:00:00Z")
    calendar.format(t: number) -> string
      The time as RFC 3339 in UTC. anywhere: calendar.format(0)
    url.parse(text: string) -> { scheme: string, host: string?, port: integer?, path: string, query: table<string, string>, fragment: \
    string? }?; string?
      The parts of a URL, percent-decoded once; or nil and why. anywhere: url.parse("app://open?utm_source=x")
    text.lower(text: string) -> string
      The text in lower case, by Unicode. anywhere: text.lower("ÀÉ")
    url.encode(text: string) -> string
      The text with escapes for all but letters, digits and -._~. anywhere: url.encode("a b")
    text.trim(text: string) -> string
      The text without white space around it. anywhere: text.trim(" a ")
    hash.sha256(text: string) -> string
      The digest in lower-case hex. anywhere: hash.sha256("a")
    uuid() -> string
      An id made from the event: a replay makes the same. evaluation: uuid()
    geo.distance(lat1: number; lon1: number; lat2: number; lon2: number) -> number
      Metres between two places. anywhere: geo.distance(48.1, 11.6, 52.5, 13.4)
    json.encode(value: any) -> string
      The value as JSON. anywhere: json.encode({ a = 1 })
    json.decode(text: string) -> any; string?
      The value of a JSON text, or nil and why. anywhere: json.decode("{}")
    array(list: table?) -> table
      Marks a table as an array, so that it stays one when it is empty. anywhere: array {}
    data(file: string) -> any
      A JSON file of the plugin's folder, frozen. anywhere: data("stamps.json")
    text.upper(text: string) -> string
      The text in upper case, by Unicode. anywhere: text.upper("àé")
    text.fold(text: string) -> string
      The form in which texts are compared: without case, wide or narrow forms, and what can't be seen. anywhere: text.fold("ＡＢ１２")
    text.find_re(text: string; pattern: string) -> integer?; integer?; string? ...
      The first match of a regular expression of RE2: where it begins and ends, and its groups; or nil. \
    anywhere: text.find_re("a12", "([0-9]+)")
    hash.hmac_sha256(key: string; text: string) -> string
      The message authentication code in lower-case hex. anywhere: hash.hmac_sha256("key", "a")
    base64.encode(bytes: string) -> string
      The bytes in base 64. anywhere: base64.encode("a")
    base64.decode(text: string) -> string?; string?
      The bytes of a text in base 64, or nil and why. anywhere: base64.decode("YQ==")
    hex.encode(bytes: string) -> string
      The bytes in lower-case hexadecimal digits. anywhere: hex.encode("a")
    hex.decode(text: string) -> string?; string?
      The bytes of hexadecimal digits, or nil and why. anywhere: hex.decode("61")
    semver.compare(a: string|nil; b: string|nil) -> integer?
      Which of two versions comes first: -1, 0 or 1; nil where one is no version of semver 2.0.0. \
    anywhere: semver.compare("1.2.0", "v1.10.0-beta.1")
    ip.within(address: string|nil; block: string|nil) -> boolean?
      Whether an address is in a block such as 10.0.0.0/8; nil where one is no address. anywhere: ip.within("10.1.2.3", "10.0.0.0/8")
    bucket(name: string; key: string?) -> number
      A number from 0 to less than 1 that the plugin, the name and the key decide, and that stays; the key is the subject by default. \
    anywhere: bucket("colours", "user:7")
    pick(weights: table<string, number>; bucket: number) -> string
      The key that a bucket falls on, each as often as its weight says. anywhere: pick({ red = 1, blue = 3 }, bucket("colours", "user:7"))
    """
}
