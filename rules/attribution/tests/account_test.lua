-- The end of an account: the data that goes with it, and that which stays, as it is somebody else's.

local account = require "profile"
local own = require "own"

local AD = "https://discovery.ozma.io/go-app/the-boss?fbclid=IwAR1aB&utm_campaign=install&email=user@example.com"

local function launch(t, device, data)
  data.platform = data.platform or "ios"
  return t:event("device:" .. device, "app.launched", data).decisions
end

local function sign_in(t, device, user) return t:event("device:" .. device, "user.authenticated", { user = user }) end

local function profile(t, user) return t:query("user:" .. user, "attribution.profile") end

test "deleting an account erases the user and their devices" (function(t)
  launch(t, "a", { url = AD, authenticated = true, user = "42" })
  launch(t, "b", { platform = "android" })
  sign_in(t, "b", "42")
  t:event("user:42", "account.deleted", {})
  t:equal(t:state("user:42"), {})
  t:equal(t:state("device:a"), {})
  t:equal(t:state("device:b"), {})
  t:equal(profile(t, "42"), { attribution = json.null, att_status = json.null })
end)

test "a launch after a deleted account is a first launch" (function(t)
  launch(t, "d", { url = AD, authenticated = true, user = "42" })
  t:event("user:42", "account.deleted", {})
  local decided = launch(t, "d", {})
  t:equal({ decided.first_launch, decided.facebook_attribution, decided.screen }, { true, false, "welcome" })
end)

test "a device whose last user is another one survives" (function(t)
  launch(t, "d", { authenticated = true, user = "old" })
  launch(t, "d", { authenticated = true, user = "new" })
  t:event("user:old", "account.deleted", {})
  t:equal(launch(t, "d", {}).first_launch, false)
  t:event("user:new", "account.deleted", {})
  t:equal(launch(t, "d", {}).first_launch, true)
end)

test "deleting an unknown account leaves nothing" (function(t)
  t:equal(t:event("user:nobody", "account.deleted", {}).failures, {})
  t:equal(t:state("user:nobody"), {})
  t:equal(t:event("device:d", plugin.name .. ".owner_deleted", {}, { internal = true }).failures, {})
end)

test "an answer that names a user links the device to that user" (function(t)
  launch(t, "d", { url = AD })
  t:event("device:d", "att.answered", { status = "denied", user = "7" })
  t:event("user:7", "account.deleted", {})
  t:equal(t:state("device:d"), {})
end)

local function on_device(t, device, state)
  t:given("device:" .. device, 1, { [plugin.name] = state }, { topics = { plugin.name .. "/user:42" } })
end

test "the end of an account reaches any number of devices" (function(t)
  for i = 1, 1001 do on_device(t, i, { user = i == 1001 and "42" or "7" }) end
  t:event("user:42", "account.deleted", {})
  t:equal(#own(t:sent()), 1001)
  t:equal(t:state("device:1001"), {})
end)

local function deleted_with(t, unheard)
  on_device(t, "d", { user = "42", unheard = unheard })
  t:event("user:42", "account.deleted", {})
  t:equal(t:state("device:d"), {})
  local sent = own(t:sent())
  local last = sent[#sent]
  return { last.subject, last.type }
end

test "a device of a deleted account takes back a link that may be under way" (function(t)
  t:equal(deleted_with(t, 1), { "device:d", plugin.name .. ".left" })
end)

test "nothing is sent to a deleted user who has heard of all links" (function(t)
  t:equal(deleted_with(t, nil), { "device:d", plugin.name .. ".owner_deleted" })
  sign_in(t, "e", "42")
  t:equal(t:state("device:e").unheard, nil)
end)

test "what a device takes back leaves what other devices brought" (function(t)
  local state = {
    attribution = { email = "user@example.com" }, attribution_from = "device:a", att_status = "denied",
    status_from = "device:b",
  }
  account.take_back(state, "device:c")
  t:equal(state.attribution_from, "device:a")
  account.take_back(state, "device:a")
  t:equal(state, { att_status = "denied", status_from = "device:b" })
end)

test "the end of an account takes its attribution from a device that somebody else is on" (function(t)
  launch(t, "d", { url = AD })
  sign_in(t, "d", "old")
  sign_in(t, "d", "new")
  t:equal(t:state("device:d").install_origin.userData.email, hash.sha256("user@example.com"))
  t:event("user:old", "account.deleted", {})
  local state = t:state("device:d")
  t:equal({ state.user, state.facebook, state.install_origin, state.attributed_to }, { "new", false })
  t:equal(own(t:event("device:d", "att.answered", { status = "authorized" })), {})
  t:equal(profile(t, "new").att_status, "authorized")
end)

local function is_repeat(t, id) return t:event("device:d", "app.foregrounded", {}, { id = id }).duplicate end

test "of too many users a device lets go of the first one, and of what came with it" (function(t)
  t:settings { users_kept = 2 }
  launch(t, "d", { url = AD, platform = "android" })
  for _, user in ipairs { "old", "new", "old", "third" } do sign_in(t, "d", user) end
  t:equal({ t:state("device:d").users, t:state("device:d").facebook }, { { "old", "third" }, true })
  local before = #own(t:sent())
  t:event("user:new", "account.deleted", {})
  t:equal(#own(t:sent()), before)
  sign_in(t, "d", "fourth")
  local state = t:state("device:d")
  t:equal({ state.users, state.facebook, state.attributed_to }, { { "third", "fourth" }, false })
  t:event("user:third", "account.deleted", {})
  t:equal(t:state("device:d").users, { "fourth" })
end)

test "the end of an account erases the past of a device that somebody else is on" (function(t)
  sign_in(t, "d", "old")
  t:equal({ is_repeat(t, "f"), is_repeat(t, "f") }, { false, true })
  sign_in(t, "d", "new")
  t:event("user:old", "account.deleted", {})
  local state = t:state("device:d")
  t:equal({ state.user, state.authenticated }, { "new", true })
  t:equal({ is_repeat(t, "f"), is_repeat(t, "f") }, { false, true })
end)

test "a link that its deleted user never answered lets no other answer erase anything" (function(t)
  on_device(t, "d", { user = "new", unheard = 1 })
  t:event("user:42", "account.deleted", {})
  t:equal(is_repeat(t, "f"), false)
  sign_in(t, "d", "third")
  t:equal(is_repeat(t, "f"), true)
end)

test "the end of an account leaves the attribution of somebody else" (function(t)
  launch(t, "d", { url = AD, platform = "android" })
  t:event("device:d", "att.answered", { status = "denied", user = "old" })
  sign_in(t, "d", "new")
  t:event("user:old", "account.deleted", {})
  t:equal(launch(t, "d", { platform = "android" }).facebook_attribution, true)
  t:equal(profile(t, "new").attribution.fbclid, "IwAR1aB")
end)

test "after the end of an account nothing holds the address" (function(t)
  launch(t, "a", { url = AD })
  sign_in(t, "a", "42")
  launch(t, "b", { url = AD, platform = "android", authenticated = true, user = "42" })
  sign_in(t, "b", "7")
  local before = #t:sent()
  t:event("user:42", "account.deleted", {})
  local found = { table.unpack(t:sent(), before + 1) }
  for _, subject in ipairs { "user:42", "user:7", "device:a", "device:b" } do found[#found + 1] = t:state(subject) end
  t:equal(json.encode(found):find("user@example.com", 1, true), nil)
  t:equal(json.encode(found):find(hash.sha256("user@example.com"), 1, true), nil)
end)

test "a device of an earlier version, which its user's state lists, is erased too" (function(t)
  t:given("user:42", 1, { attribution = { devices = { "device:d" } } })
  t:given("device:d", 1, { attribution = { launched = true, user = "42" } })
  t:event("user:42", "account.deleted", {})
  t:equal({ t:state("user:42"), t:state("device:d") }, { {}, {} })
end)

test "a client can't link or erase in the place of the rules" (function(t)
  for _, type in ipairs { "linked", "heard", "attributed", "owner_deleted", "device_left", "left" } do
    t:fails(function() t:event("user:1", plugin.name .. "." .. type, {}) end, "only rules make events")
  end
end)
