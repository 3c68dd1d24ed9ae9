-- `dl_target`: the destination that a link names itself.

local HOST = "https://app.respirelyf.com"

local function open(t, link, more)
  local data = { url = link }
  for name, value in pairs(more or {}) do data[name] = value end
  return t:event("device:d", "link.opened", data)
end

local MEMBER = { logged_in = true, onboarding_seen = true }
local NEW = { logged_in = false, onboarding_seen = false }
local VISITS = { member = MEMBER, known = { logged_in = false, onboarding_seen = true }, new = NEW }

local function behind_login(screen)
  return { member = { screen }, known = { "login", screen }, new = { "login", screen } }
end

local DASHBOARD = { member = { "dashboard" }, known = { "login", "dashboard" }, new = { "onboarding" } }

local TARGETS = {
  { "paywall", "paywall", nil, behind_login "paywall" },
  { "PayWall", "paywall", nil, behind_login "paywall" },
  { "dashboard", "dashboard", nil, DASHBOARD },
  { "onboarding", "onboarding", nil, { member = { "onboarding" }, known = { "onboarding" }, new = { "onboarding" } } },
  { "report:AbC", "report", "AbC", behind_login "report" },
  { "REPORT:a:b", "report", "a:b", behind_login "report" },
  { "insights:7", "insights", "7", behind_login "insights" },
}

test "a known target wins over any path of the host" (function(t)
  for _, path in ipairs { "/", "/paywall", "/report/1", "/pricing" } do
    for _, case in ipairs(TARGETS) do
      local target, destination, id, flows = table.unpack(case, 1, 4)
      for who, visit in pairs(VISITS) do
        local decided = open(t, HOST .. path .. "?dl_target=" .. target, visit).decisions
        t:equal(decided.destination, destination)
        t:equal(decided.flow, flows[who])
        t:equal(decided.target, id and { id = id } or nil)
        t:equal(decided.path, path)
      end
    end
  end
end)

test "a target wins over a path that is not UTF-8" (function(t)
  local decided = open(t, HOST .. "/%FFa?dl_target=paywall", MEMBER).decisions
  t:equal({ decided.destination, decided.path }, { "paywall", "/%ffa" })
end)

test "an unknown target is reported, and the path decides" (function(t)
  for _, target in ipairs { "Shop", "report", "report:", "insights:", "invite:7", ":7", "paywall:7" } do
    local decided = open(t, HOST .. "/paywall?dl_target=" .. target, MEMBER).decisions
    t:equal({ decided.destination, decided.unknown_target }, { "paywall", target })
    t:equal(decided.target, nil)
  end
end)

test "an unknown target on an unknown path is ignored" (function(t)
  t:equal(open(t, HOST .. "/pricing?dl_target=shop").decisions, { destination = "none", ignored = "path" })
end)

test "an empty target is absent" (function(t)
  local outcome = open(t, HOST .. "/paywall?dl_target=", MEMBER)
  t:equal({ outcome.decisions.destination, outcome.decisions.unknown_target }, { "paywall" })
  t:equal(outcome.effects[1].data.dl_target, nil)
end)

test "the parameter that names the target is a setting" (function(t)
  t:settings { target_parameter = "to" }
  local outcome = open(t, HOST .. "/?to=paywall&dl_target=onboarding", MEMBER)
  t:equal(outcome.decisions.destination, "paywall")
  t:equal({ outcome.effects[1].data.to, outcome.effects[1].data.dl_target }, { "paywall" })
end)
