-- Settings that are given in part, or wrong.
test "a setting that can't be right is refused" (function(t)
  t:fails(function() t:settings { welcome_stamp = "atlantis" } end, "'welcome_stamp' .*no such stamp")
  t:fails(function() t:settings { time_zone = "Europe/Berln" } end, "'time_zone' .*must be the name of a time zone")
  t:fails(function() t:settings { milestones = { 1, 0 } } end, "'milestones%[2%]' .*must be at least 1")
  t:fails(function() t:settings { messages = { welcome = "" } } end, "'messages.welcome' .*a length of at least 1")
end)

test "one message can be set, and the others stay" (function(t)
  t:settings { messages = { welcome = "Hello" } }
  t:event("user:bob", "user.signed_in")
  t:event("user:ann", "user.followed", { target = "bob" })
  local items = t:query("user:bob", "notifications").items
  t:equal({ items[1].message, items[2].message }, { "ann followed you", "Hello" })
end)
