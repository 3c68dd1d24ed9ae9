-- The document's success metrics, as counters shared by all users, which identify nobody. Each user counts once in
-- each, from the sign-up on; earlier actions count at the moment of the sign-up. An automatic claim does not count.
local metrics = {}

local DAY = 86400
local WINDOWS = { { name = "claimed_24h", seconds = DAY }, { name = "claimed_7d", seconds = 7 * DAY } }

local function note(name, n)
  if once("metric:" .. name) then count("onboarding." .. name, {}, n) end
end

function metrics.record(state)
  local start = state.signed_up_at
  if not start then return end
  note("signed_up", 1)
  if state.bell_opened then note("bell_opened", 1) end
  if state.first_claim_at then
    note("first_claims", 1)
    note("first_claim_seconds", math.floor(math.max(0, state.first_claim_at - start) + 0.5))
  end
  for _, window in ipairs(WINDOWS) do
    if state.welcome_claimed_at and state.welcome_claimed_at - start <= window.seconds then note(window.name, 1) end
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

local function per_cent(part, whole)
  if whole == 0 then return json.null end
  return math.floor(part / whole * 1000 + 0.5) / 10
end

function metrics.report()
  local sum = {}
  for _, counter in ipairs(counters("onboarding.")) do
    sum[counter.name] = (sum[counter.name] or 0) + counter.value
  end
  local function total(name) return sum["onboarding." .. name] or 0 end
  local users, firsts = total("signed_up"), total("first_claims")
  return {
    signed_up = users, claimed_24h = total("claimed_24h"), claimed_7d = total("claimed_7d"),
    pct_24h = per_cent(total("claimed_24h"), users), pct_7d = per_cent(total("claimed_7d"), users),
    mean_seconds_to_first_claim = firsts > 0 and total("first_claim_seconds") / firsts or json.null,
    bell_rate = per_cent(total("bell_opened"), users),
  }
end

return metrics
