-- The document's success metrics, as counters shared by all users, which identify nobody. Each user counts once in
-- each, on the day (UTC) of the sign-up; earlier actions count at the moment of the sign-up. An automatic claim does
-- not count. The bell's rate is of users and weeks: in how many weeks of their use users opened it.
local figures = require "figures"

local metrics = {}

local PREFIX = plugin.name .. "."
local KEPT = { keep = settings.keep }

local function note(state, name, n)
  if once("metric:" .. name) then figures.add(PREFIX .. name, state.signed_up_at, {}, n, KEPT) end
end

-- The day of the Monday of a day's week.
local function monday(day) return day - calendar.weekday(day * 86400, "UTC") + 1 end

local function this_week() return monday(calendar.day(now(), "UTC")) end

--- Counts the week of a user who does something.
function metrics.active(state)
  if not state.signed_up_at then return end
  local week = this_week()
  if state.week ~= week then
    state.week = week
    figures.add(PREFIX .. "weeks", week * 86400, {}, 1, KEPT)
  end
  if state.bell_week == week and state.counted_bell_week ~= week then
    state.counted_bell_week = week
    figures.add(PREFIX .. "bell_weeks", week * 86400, {}, 1, KEPT)
  end
end

-- Whoever claimed in time counts at once; for the rate both they and the others count when the window has closed, which
-- a timer tells. One that is new, or longer now, has its timer from the next claim, or from the end of another one.
local function count_window(state, name, seconds)
  local start, claimed_at = state.signed_up_at, state.welcome_claimed_at
  local is_claimed = claimed_at and claimed_at - start <= seconds
  local is_closed = now() - start > seconds - 1e-6 -- a timer's moment is rounded to a microsecond
  if is_claimed then note(state, "claimed_" .. name) end
  if is_closed then note(state, "closed_" .. name) end
  if is_closed and is_claimed then note(state, "closed_claimed_" .. name) end
  if not is_closed then
    timer.set("window:" .. name, start + seconds, "claim.window_closed", { plugin = plugin.name })
  end
end

--- Counts what a user has done since the sign-up.
function metrics.record(state)
  local start = state.signed_up_at
  if not start then return end
  note(state, "signed_up")
  if state.first_claim_at then
    note(state, "first_claims")
    note(state, "first_claim_seconds", math.floor(math.max(0, state.first_claim_at - start) + 0.5))
  end
  for name, hours in pairs(settings.claim_windows) do count_window(state, name, hours * 3600) end
end

function metrics.signed_up(state)
  metrics.record(state)
  metrics.active(state)
end

function metrics.claimed(state, stamp)
  state.first_claim_at = state.first_claim_at or now()
  if stamp == settings.welcome_stamp then state.welcome_claimed_at = now() end
  metrics.record(state)
end

function metrics.bell_opened(state)
  state.bell_week = this_week()
  metrics.active(state)
end

-- The sum of a figure that is counted by weeks.
local function of_weeks(name, from, to)
  return figures.sums(PREFIX .. name, from and figures.date(monday(from)), to and figures.date(to))[""]
end

--- The metrics of those who signed up from `from` to `to`, and of the weeks of these days; without them, of all whose
--- figures are kept.
function metrics.report(_, args)
  local from, to = figures.range(args)
  local pct = figures.pct
  local of = figures.sums(PREFIX, from and figures.date(from), to and figures.date(to))
  local report = {
    signed_up = of.signed_up, bell_rate = pct(of_weeks("bell_weeks", from, to), of_weeks("weeks", from, to)),
    mean_seconds_to_first_claim = of.first_claims > 0 and of.first_claim_seconds / of.first_claims or json.null,
  }
  for name in pairs(settings.claim_windows) do
    report["claimed_" .. name] = of["claimed_" .. name]
    report["pct_" .. name] = pct(of["closed_claimed_" .. name], of["closed_" .. name])
  end
  return report
end

return metrics
