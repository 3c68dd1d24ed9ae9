-- The end of an account: what goes with it, and what stays because it is somebody else's.

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
  t:equal(t:event("device:d", "attribution.owner_deleted", { owner = "user:1" }, { internal = true }).failures, {})
end)

test "an answer that names a user links the device to that user" (function(t)
  launch(t, "d", { url = AD })
  t:event("device:d", "att.answered", { status = "denied", user = "7" })
  t:event("user:7", "account.deleted", {})
  t:equal(t:state("device:d"), {})
end)

test "a client can't link, erase or wait in the place of the rules" (function(t)
  for _, type in ipairs { "attribution.linked", "attribution.owner_deleted", "attribution.deletion_waits" } do
    t:fails(function() t:event("user:1", type, {}) end, "only rules make events")
  end
end)
