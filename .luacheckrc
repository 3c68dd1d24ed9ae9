-- Lua 5.4 and what the host gives to rules, nothing else.
std = "lua54"
max_line_length = 120

read_globals = {
  "plugin", "setting", "event", "state", "migrate", "rule", "query", "web", "sink",
  "decide", "emit", "raise", "send", "once", "timer", "board", "count", "counters", "peek", "forget", "now", "topic",
  "publish",
  "calendar", "url", "text", "hash", "uuid", "geo", "json", "array", "data", "log", "settings",
  "bucket", "pick", "semver", "ip", "base64", "hex",
}

files["rules/*/tests"] = { read_globals = { "test" } }
files["examples/rules/*/tests"] = { read_globals = { "test" } }
