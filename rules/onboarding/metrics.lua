-- The document's success metrics, as counters shared by all users, which identify nobody. Each user counts once in
-- each, from the sign-up on; earlier actions count at the moment of the sign-up. An automatic claim does not count.
local figures = require "figures"

local metrics = {}

local WINDOWS = { claimed_24h = 86400, claimed_7d = 7 * 86400 } -- seconds from the sign-up

local function note(name, n) if once("metric:" .. name) then count("onboarding." .. name, {}, n) end end

function metrics.record(state)
  local start = state.signed_up_at
  if not start then return end
  note("signed_up", 1)
  if state.bell_opened then note("bell_opened", 1) end
  if state.first_claim_at then
    note("first_claims", 1)
    note("first_claim_seconds", math.floor(math.max(0, state.first_claim_at - start) + 0.5))
  end
  for name, seconds in pairs(WINDOWS) do
    if state.welcome_claimed_at and state.welcome_claimed_at - start <= seconds then note(name, 1) end
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
  local of, pct = figures.sums("onboarding."), figures.pct
  return {
    signed_up = of.signed_up, claimed_24h = of.claimed_24h, claimed_7d = of.claimed_7d,
    pct_24h = pct(of.claimed_24h, of.signed_up), pct_7d = pct(of.claimed_7d, of.signed_up),
    mean_seconds_to_first_claim = of.first_claims > 0 and of.first_claim_seconds / of.first_claims or json.null,
    bell_rate = pct(of.bell_opened, of.signed_up),
  }
end

return metrics
