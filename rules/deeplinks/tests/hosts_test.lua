-- Which links are ours at all.

local HOST = "https://app.respirelyf.com"

local function open(t, link, more)
  local data = { url = link }
  for name, value in pairs(more or {}) do data[name] = value end
  return t:event("device:d", "link.opened", data)
end

local MEMBER = { logged_in = true, onboarding_seen = true }

test "the host is compared without case, port and www., over http or https" (function(t)
  for _, link in ipairs {
    "HTTPS://APP.RespireLYF.com/paywall", "http://app.respirelyf.com/paywall",
    "https://app.respirelyf.com:8443/paywall", "https://app.respirelyf.com./paywall",
    "https://www.App.respirelyf.com/PayWall/",
  } do
    t:equal(open(t, link, MEMBER).decisions.destination, "paywall")
  end
end)

test "another host is ignored: no touch, no effect, nothing else decided" (function(t)
  for _, link in ipairs {
    "https://respirelyf.com/paywall", "https://app.respirelyf.com.evil.example/paywall", "respire://paywall",
    "ftp://app.respirelyf.com/paywall", "https://evil.example/app.respirelyf.com?dl_target=paywall", "/paywall", "",
    HOST .. "/report/" .. string.rep("a", 20000),
  } do
    local outcome = open(t, link, MEMBER)
    t:equal(outcome.decisions, { destination = "none", ignored = "host" })
    t:equal(outcome.effects, {})
  end
  for _, data in ipairs { 7, {}, { url = 7 }, { url = { "x" } } } do
    t:equal(t:event("device:d", "link.opened", data).decisions, { destination = "none", ignored = "host" })
  end
  t:equal(t:state("device:d"), {})
end)

test "the hosts come from the settings" (function(t)
  t:settings { host = "go.example.org", main_host = "example.org" }
  t:equal(open(t, "https://go.example.org/paywall", MEMBER).decisions.destination, "paywall")
  t:equal(open(t, HOST .. "/paywall", MEMBER).decisions.ignored, "host")
  local file = t:web { host = "go.example.org", path = "/.well-known/apple-app-site-association" }
  t:equal(file.status, 200)
  t:equal(t:web { host = "example.org", path = "/Paywall" }.status, 308)
end)

test "hosts in the settings are compared without case and www." (function(t)
  t:settings { host = "WWW.Go.Example.org", main_host = "Example.ORG" }
  for _, host in ipairs { "go.example.org", "www.GO.example.org" } do
    t:equal(open(t, "https://" .. host .. "/paywall", MEMBER).decisions.destination, "paywall")
    t:equal(t:web { host = host:lower(), path = "/.well-known/apple-app-site-association" }.status, 200)
  end
  t:equal(t:web { host = "www.example.org", path = "/Paywall" }.status, 308)
end)

test "a link event on a user is ignored" (function(t)
  t:equal(t:event("user:1", "link.opened", { url = HOST .. "/paywall" }).decisions, {})
end)
