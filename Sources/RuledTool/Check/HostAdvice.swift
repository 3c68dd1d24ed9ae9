/// What to use in rules in the place of what other Lua programs use.
enum HostAdvice {
  private static let advice = [
    "print": "log.info(message) writes a line that names plugin, rule and event",
    "os.time": "now() is the time of the event in epoch seconds",
    "os.date": "calendar.date(now(), zone) is a date, calendar.format(now()) a time as text",
    "os.clock": "a rule can't measure time; now() is the time of the event",
    "os.getenv": "settings.name is what the configuration sets",
    "os":
      "now() and calendar tell the time, settings what the configuration sets; a rule has no other access to its host",
    "io": "a rule has no input and output: data(\"file.json\") reads a file of the plugin, emit sends to a sink",
    "load": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "loadstring": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "loadfile": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "dofile": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "package": "require \"name\" finds name.lua beside plugin.lua or in lib",
    "module": "return a table at the end of the file",
    "debug": "rulectl event --dry-run --explain shows what rules read and do",
    "collectgarbage": "the daemon limits and frees the memory of rules",
    "unpack": "table.unpack(list)", "setfenv": "globals can't be replaced", "getfenv": "globals can't be replaced",
    "_G": "globals can't be reached by a computed name", "math.randomseed": "math.random is seeded by the event",
    "math.pow": "x ^ y", "table.getn": "#list", "table.maxn": "#list", "string.gfind": "string.gmatch",
    "string.dump": "functions can't be stored",
    "coroutine.close": "let the coroutine end",
  ]

  /// What to use in the place of a name such as `print` or `os.time`; nil if there is nothing to say.
  static func hint(_ name: String) -> String? { advice[name] }
}

/// Whether two texts differ by one letter: added, left out, replaced, or swapped with its neighbour.
func isOneEdit(_ left: String, _ right: String) -> Bool {
  let one = Array(left.utf8), other = Array(right.utf8)
  guard one != other, abs(one.count - other.count) <= 1 else { return false }
  let head = zip(one, other).prefix { $0 == $1 }.count
  let a = one[head...], b = other[head...]
  if a.count != b.count { return a.count > b.count ? a.dropFirst().elementsEqual(b) : b.dropFirst().elementsEqual(a) }
  if a.dropFirst().elementsEqual(b.dropFirst()) { return true }
  return a.count > 1 && a[head] == b[head + 1] && a[head + 1] == b[head]
    && a.dropFirst(2).elementsEqual(b.dropFirst(2))
}
