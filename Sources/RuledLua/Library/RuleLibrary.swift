/// The host's library for rules beside Lua's own, as editors, pages and checks describe it.
///
/// A test compares it with the globals of a VM and calls each example, so that it can't differ from the bridge.
package enum RuleLibrary {
  /// The functions, in the order of the page on rules.
  package static let functions: [LibraryFunction] = answers + events + topics + memory + boards + time + values + texts

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
  static let declarations = [
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

  private static let answers = [
    LibraryFunction(
      "decide", "key: string; value: any", "",
      "Puts a value into the reply's decisions; the first to decide a key wins.",
      example: #"decide("screen", "welcome")"#),
    LibraryFunction(
      "emit", "sink: string; type: string; data: table?; options: { key: string?, id: string? }?", "string",
      "Records an effect with the commit, which its sink delivers; gives its id.",
      example: #"emit("client", "greeting", { to = "x" }, { key = "k" })"#),
    LibraryFunction(
      "count",
      "name: string; labels: table<string, string|number|boolean>?; n: number?; options: { keep: string? }?", "",
      "Adds to a counter that all subjects share; it is removed when it is not counted for so long.",
      example: #"count("t.sent", { platform = "ios" }, 2, { keep = "400d" })"#),
    LibraryFunction(
      "log.debug", "message: string; fields: table?", "", "Writes a line to the log, for those who look for a fault.",
      example: #"log.debug("greeted", { n = 1 })"#),
    LibraryFunction(
      "log.info", "message: string; fields: table?", "", "Writes a line to the log.", example: #"log.info("greeted")"#),
    LibraryFunction(
      "log.warn", "message: string; fields: table?", "", "Writes a warning to the log.", example: #"log.warn("odd")"#),
    LibraryFunction(
      "log.error", "message: string; fields: table?", "", "Writes an error to the log.", example: #"log.error("bad")"#),
  ]

  private static let events = [
    LibraryFunction(
      "raise", "type: string; data: table?", "", "Raises an event for the same subject in the same commit.",
      example: #"raise("streak.grown", { days = 3 })"#),
    LibraryFunction(
      "send", "subject: string; type: string; data: table?", "",
      "Sends an event to another subject: durable, applied exactly once, in order per pair.",
      example: #"send("user:7", "friend.joined", { who = event.subject })"#),
    LibraryFunction(
      "timer.set", "name: string; when: number; type: string; data: table?", "",
      "Lets an event reach this subject at a time in epoch seconds; the same name replaces the timer.",
      example: #"timer.set("remind", now() + 3600, "reminder.due", { n = 1 })"#),
    LibraryFunction(
      "timer.every",
      "name: string; spec: { seconds: number?, daily: true?, weekly: integer?, monthly: integer?, at: string?, "
        + "zone: string? }; type: string; data: table?", "",
      "Lets an event reach this subject again and again, by a schedule; the same name replaces the timer.",
      example: #"timer.every("digest", { weekly = 1, at = "09:00", zone = "Europe/Berlin" }, "digest.due")"#),
    LibraryFunction("timer.cancel", "name: string", "", "Removes a timer.", example: #"timer.cancel("remind")"#),
    LibraryFunction(
      "timer.due", "name: string", "number?", "When a timer is due in epoch seconds, or nil.",
      example: #"timer.due("remind")"#),
  ]

  private static let topics = [
    LibraryFunction(
      "topic.join", "name: string", "", "Makes this subject a member of the plugin's topic.",
      example: #"topic.join("news")"#),
    LibraryFunction(
      "topic.leave", "name: string", "", "Ends the membership; what is on its way to the subject does not arrive.",
      example: #"topic.leave("news")"#),
    LibraryFunction(
      "topic.joined", "name: string", "boolean", "Whether this subject is a member of the plugin's topic.",
      example: #"topic.joined("news")"#),
    LibraryFunction(
      "topic.count", "name: string", "integer", "How many members the plugin's topic has; in queries only.",
      example: #"topic.count("news")"#, scope: .query),
    LibraryFunction(
      "publish", "topic: string; type: string; data: table?; options: { except: string? }?", "",
      "Sends an event to every subject that is a member of the plugin's topic when this event commits.",
      example: #"publish("news", "news.came", { id = 7 }, { except = event.subject })"#),
  ]

  private static let memory = [
    LibraryFunction(
      "once", "key: string; seconds: number?", "boolean",
      "True the first time for this subject and plugin, and again after so many seconds.", example: #"once("w", 60)"#),
    LibraryFunction(
      "peek", "plugin: string", "table?", "Another plugin's state of this subject before this event, frozen; or nil.",
      example: #"peek("gamification")"#),
    LibraryFunction(
      "forget", "options: { all: boolean?, past: boolean? }?", "",
      "Erases this plugin's state, timers, once keys, memberships and places of this subject; all of it; or all but these of any plugin.",
      example: "forget { all = true }"),
    LibraryFunction(
      "counters", "prefix: string?", "{ name: string, labels: table, value: number }[]",
      "The committed counters whose name begins so; in queries only.", example: #"counters("t.")"#, scope: .query),
  ]

  private static let boards = [
    LibraryFunction(
      "board.set", "name: string; score: number; options: { keep: string?, low: boolean? }?", "",
      "Gives this subject a score on a board of the plugin; keep removes the board so long after its last change, low has the least first.",
      example: #"board.set("week", 12, { keep = "30d" })"#),
    LibraryFunction(
      "board.add", "name: string; n: number; options: { keep: string?, low: boolean? }?", "",
      "Adds to this subject's score on a board, which is 0 before.", example: #"board.add("week", 2)"#),
    LibraryFunction(
      "board.leave", "name: string", "", "Takes this subject off a board.", example: #"board.leave("week")"#),
    LibraryFunction(
      "board.top", "name: string; n: integer; from: integer?", "{ subject: string, score: number, rank: integer }[]",
      "The first n places of a board, or those from a rank on; in queries only.", example: #"board.top("week", 10)"#,
      scope: .query),
    LibraryFunction(
      "board.rank", "name: string; subject: string", "integer?", "The rank of a subject, or nil; in queries only.",
      example: #"board.rank("week", "user:7")"#, scope: .query),
    LibraryFunction(
      "board.around", "name: string; subject: string; n: integer",
      "{ subject: string, score: number, rank: integer }[]",
      "A subject's place with n on each side; in queries only.", example: #"board.around("week", "user:7", 2)"#,
      scope: .query),
    LibraryFunction(
      "board.count", "name: string", "integer", "How many subjects are on a board; in queries only.",
      example: #"board.count("week")"#, scope: .query),
  ]

  private static let time = [
    LibraryFunction("now", "", "number", "The time of the event's evaluation in epoch seconds.", example: "now()"),
    LibraryFunction(
      "calendar.day", "t: number; zone: string", "integer", "A count of civil days; subtract two to get days between.",
      example: #"calendar.day(0, "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.date", "t: number; zone: string", "string", "The date, like 2025-11-10.",
      example: #"calendar.date(0, "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.start", "day: integer; zone: string", "number", "The epoch second when that day begins there.",
      example: #"calendar.start(0, "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.month", "t: number; zone: string", "string", "The month, like 2025-11.",
      example: #"calendar.month(0, "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.week", "t: number; zone: string", "string", "The week of ISO 8601, like 2025-W46.",
      example: #"calendar.week(0, "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.at", "day: integer; time: string; zone: string", "number",
      "The epoch second when the clocks there show that time, like 09:00, on that day.",
      example: #"calendar.at(0, "09:00", "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.add",
      "t: number; amount: { years: integer?, months: integer?, weeks: integer?, days: integer?, hours: number?, "
        + "minutes: number?, seconds: number? }; zone: string", "number",
      "The time that much later; months and days keep the time of day.",
      example: #"calendar.add(0, { months = 1 }, "Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.hour", "t: number; zone: string", "integer", "The hour, 0 to 23.", example: #"calendar.hour(0, "UTC")"#,
      scope: .anywhere),
    LibraryFunction(
      "calendar.weekday", "t: number; zone: string", "integer", "The weekday, 1 for Monday to 7 for Sunday.",
      example: #"calendar.weekday(0, "UTC")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.workday", "day: integer; holidays: string[]?", "boolean",
      "Whether the day is one from Monday to Friday, and its date none of the holidays.",
      example: #"calendar.workday(0, { "1970-01-01" })"#, scope: .anywhere),
    LibraryFunction(
      "calendar.known", "zone: any", "boolean", "Whether there is a time zone of that name.",
      example: #"calendar.known("Europe/Berlin")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.parse", "text: string", "number?", "The epoch seconds of a time in RFC 3339, or nil.",
      example: #"calendar.parse("2025-11-10T08:00:00Z")"#, scope: .anywhere),
    LibraryFunction(
      "calendar.format", "t: number", "string", "The time as RFC 3339 in UTC.", example: "calendar.format(0)",
      scope: .anywhere),
  ]

  private static let values = [
    LibraryFunction(
      "url.parse", "text: string",
      "{ scheme: string, host: string?, port: integer?, path: string, query: table<string, string>, fragment: string? }?; "
        + "string?", "The parts of a URL, percent-decoded once; or nil and why.",
      example: #"url.parse("app://open?utm_source=x")"#, scope: .anywhere),
    LibraryFunction(
      "text.lower", "text: string", "string", "The text in lower case, by Unicode.", example: #"text.lower("ÀÉ")"#,
      scope: .anywhere),
    LibraryFunction(
      "url.encode", "text: string", "string", "The text with escapes for all but letters, digits and -._~.",
      example: #"url.encode("a b")"#, scope: .anywhere),
    LibraryFunction(
      "text.trim", "text: string", "string", "The text without white space around it.", example: #"text.trim(" a ")"#,
      scope: .anywhere),
    LibraryFunction(
      "hash.sha256", "text: string", "string", "The digest in lower-case hex.", example: #"hash.sha256("a")"#,
      scope: .anywhere),
    LibraryFunction("uuid", "", "string", "An id made from the event: a replay makes the same.", example: "uuid()"),
    LibraryFunction(
      "geo.distance", "lat1: number; lon1: number; lat2: number; lon2: number", "number", "Metres between two places.",
      example: "geo.distance(48.1, 11.6, 52.5, 13.4)", scope: .anywhere),
    LibraryFunction(
      "json.encode", "value: any", "string", "The value as JSON.", example: "json.encode({ a = 1 })", scope: .anywhere),
    LibraryFunction(
      "json.decode", "text: string", "any; string?", "The value of a JSON text, or nil and why.",
      example: #"json.decode("{}")"#, scope: .anywhere),
    LibraryFunction(
      "array", "list: table?", "table", "Marks a table as an array, so that it stays one when it is empty.",
      example: "array {}", scope: .anywhere),
    LibraryFunction(
      "data", "file: string", "any", "A JSON file of the plugin's folder, frozen.", example: #"data("stamps.json")"#,
      scope: .anywhere),
  ]

  private static let texts = [
    LibraryFunction(
      "text.upper", "text: string", "string", "The text in upper case, by Unicode.", example: #"text.upper("àé")"#,
      scope: .anywhere),
    LibraryFunction(
      "text.fold", "text: string", "string",
      "The form in which texts are compared: without case, wide or narrow forms, and what can't be seen.",
      example: #"text.fold("ＡＢ１２")"#, scope: .anywhere),
    LibraryFunction(
      "text.find_re", "text: string; pattern: string", "integer?; integer?; string? ...",
      "The first match of a regular expression of RE2: where it begins and ends, and its groups; or nil.",
      example: #"text.find_re("a12", "([0-9]+)")"#, scope: .anywhere),
    LibraryFunction(
      "hash.hmac_sha256", "key: string; text: string", "string",
      "The message authentication code in lower-case hex.", example: #"hash.hmac_sha256("key", "a")"#,
      scope: .anywhere),
    LibraryFunction(
      "base64.encode", "bytes: string", "string", "The bytes in base 64.", example: #"base64.encode("a")"#,
      scope: .anywhere),
    LibraryFunction(
      "base64.decode", "text: string", "string?; string?", "The bytes of a text in base 64, or nil and why.",
      example: #"base64.decode("YQ==")"#, scope: .anywhere),
    LibraryFunction(
      "hex.encode", "bytes: string", "string", "The bytes in lower-case hexadecimal digits.",
      example: #"hex.encode("a")"#, scope: .anywhere),
    LibraryFunction(
      "hex.decode", "text: string", "string?; string?", "The bytes of hexadecimal digits, or nil and why.",
      example: #"hex.decode("61")"#, scope: .anywhere),
    LibraryFunction(
      "semver.compare", "a: string|nil; b: string|nil", "integer?",
      "Which of two versions comes first: -1, 0 or 1; nil where one is no version of semver 2.0.0.",
      example: #"semver.compare("1.2.0", "v1.10.0-beta.1")"#, scope: .anywhere),
    LibraryFunction(
      "ip.within", "address: string|nil; block: string|nil", "boolean?",
      "Whether an address is in a block such as 10.0.0.0/8; nil where one is no address.",
      example: #"ip.within("10.1.2.3", "10.0.0.0/8")"#, scope: .anywhere),
    LibraryFunction(
      "bucket", "name: string; key: string?", "number",
      "A number from 0 to less than 1 that the plugin, the name and the key decide, and that stays; the key is the subject by default.",
      example: #"bucket("colours", "user:7")"#, scope: .anywhere),
    LibraryFunction(
      "pick", "weights: table<string, number>; bucket: number", "string",
      "The key that a bucket falls on, each as often as its weight says.",
      example: #"pick({ red = 1, blue = 3 }, bucket("colours", "user:7"))"#, scope: .anywhere),
  ]
}
