-- Settings that are given in part, or wrong.
test "a setting that can't be right is refused" (function(t)
  t:fails(function() t:settings { keep = "1.5d" } end, "'keep' .*its numbers are whole ones")
  t:fails(function() t:settings { keep = "0s" } end, "'keep' .*at least 1 seconds")
  t:fails(function() t:settings { keep = "40000d" } end, "'keep' .*at most 3155760000 seconds")
  t:fails(function() t:settings { welcome_stamp = "atlantis" } end, "'welcome_stamp' .*no such stamp")
  t:fails(function() t:settings { welcome_stamp = "louvre" } end, "'welcome_stamp' .*requires a location")
  t:fails(function() t:settings { time_zone = "Europe/Berln" } end, "'time_zone' .*must be the name of a time zone")
  t:fails(function() t:settings { milestones = { 1, 0 } } end, "'milestones%[2%]' .*must be at least 1")
  t:fails(function() t:settings { messages = { welcome = "" } } end, "'messages.welcome' .*a length of at least 1")
  t:fails(function() t:settings { messages = { welcome = {} } } end, "'welcome' is neither a text nor a locale")
  t:fails(function() t:settings { messages = { fr = { welcome = "" } } } end, "'messages.fr' .*no text")
  t:fails(function() t:settings { social = { ["book.lent"] = { kind = "lent", whom = "to" } } } end, "no such text")
  local pattern = { ["app.*"] = { kind = "like", whom = "to" } }
  t:fails(function() t:settings { social = pattern } end, "'social' .*\"app%.%*\" is no type of event")
  t:fails(function() t:settings { achievements = { { name = "x", measure = "days", at = 1 } } } end, "must be one of")
  local twice = { { name = "stamps", measure = "day", at = 1 }, { name = "stamps", measure = "day", at = 2 } }
  t:fails(function() t:settings { achievements = twice } end, "'achievements' .*two have the name \"stamps\"")
  t:fails(function() t:settings { auto_claim_days = 1e300 } end, "'auto_claim_days' .*at most 3650")
  t:fails(function() t:settings { claim_windows = { ["24h"] = 1e300 } } end, "'claim_windows.24h' .*at most 87600")
  t:fails(function() t:settings { id_bytes = 252 } end, "'id_bytes' .*at most 251")
  t:fails(function() t:settings { notifications_kept = 501 } end, "'notifications_kept' .*at most 500")
  t:fails(function() t:settings { too_fast = { km_h = -1 } } end, "'too_fast.km_h' .*must be at least 0")
end)

test "a text that nobody says is unknown, in every language" (function(t)
  t:fails(function() t:settings { messages = { wellcome = "Hello" } } end, "'messages.wellcome'.* mean 'welcome'")
  t:fails(function() t:settings { messages = { de = { folow = "x" } } } end, "'messages.de.folow'.* mean 'follow'")
  t:fails(function() t:settings { messages = { fr = { folow = "x" } } } end, "'messages.fr.folow'.* mean 'follow'")
  t:settings {
    social   = { ["book.lent"] = { kind = "lent", whom = "to" } },
    messages = { lent = "Lent", fr = { welcome = "Bienvenue", lent = "Prêté" } },
  }
end)

test "a text names only what it is told" (function(t)
  local function refused(messages, why) t:fails(function() t:settings { messages = messages } end, why) end
  t:fails(function() t:settings { social = { ["book.lent"] = { whom = "to" } } } end, "'social.book.lent")
  refused({ follow = "{actr} follows" }, "'messages' .*'follow' has no {actr}, only actor")
  refused({ fr = { welcome = "Bienvenue, {actor}" } }, "'messages' .*'welcome' has no {actor}, only words")
  t:settings {
    social   = { ["book.lent"] = { kind = "lent", whom = "to" } },
    messages = { lent = "{actor} lent {", follow = "A follower", fr = { area_stamp = "{stamp} !" } },
  }
end)

test "a locale is there once, however it is written" (function(t)
  t:fails(function() t:settings { messages = { DE = { follow = "x" } } } end, "'messages' .*two tables are of de")
  t:settings { messages = { ["de-CH"] = { welcome = "Grüezi" } } }
end)

test "one message can be set, and the others stay" (function(t)
  t:settings { messages = { welcome = "Hello" } }
  t:event("user:bob", "user.signed_in")
  t:event("user:ann", "user.followed", { target = "bob" })
  local items = t:query("user:bob", "notifications").items
  t:equal({ items[1].message, items[2].message }, { "Someone followed you", "Hello" })
end)
