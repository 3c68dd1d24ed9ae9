-- The document's success metrics, as counters shared by all users, which identify nobody. Each user counts once in
-- each, from the sign-up on; earlier actions count at the moment of the sign-up. An automatic claim does not count.
local figures = require "figures"

local metrics = {}

local PREFIX = plugin.name .. "."

local function note(name, n) if once("metric:" .. name) then count(PREFIX .. name, {}, n) end end

function metrics.record(state)
  local start = state.signed_up_at
  if not start then return end
  note("signed_up", 1)
  if state.bell_opened then note("bell_opened", 1) end
  if state.first_claim_at then
    note("first_claims", 1)
    note("first_claim_seconds", math.floor(math.max(0, state.first_claim_at - start) + 0.5))
  end
  for name, hours in pairs(settings.claim_windows) do
    local claimed_at = state.welcome_claimed_at
    if claimed_at and claimed_at - start <= hours * 3600 then note("claimed_" .. name, 1) end
  end
end

function metrics.claimed(state, stamp)
  state.first_claim_at = state.first_claim_at or now()
  if stamp == settings.welcome_stamp then state.welcome_claimed_at = now() end
  metrics.record(state)
end

function metrics.bell_opened(state)
  state.bell_opened = true
  metrics.record(state)
end

function metrics.report()
  local of, pct = figures.sums(PREFIX), figures.pct
  local report = {
    signed_up = of.signed_up, bell_rate = pct(of.bell_opened, of.signed_up),
    mean_seconds_to_first_claim = of.first_claims > 0 and of.first_claim_seconds / of.first_claims or json.null,
  }
  for name in pairs(settings.claim_windows) do
    report["claimed_" .. name] = of["claimed_" .. name]
    report["pct_" .. name] = pct(of["claimed_" .. name], of.signed_up)
  end
  return report
end

return metrics
