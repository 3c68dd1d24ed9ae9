-- The key figures of a day or a range, computed from the sums on the board.

local figures = require "figures"
local people  = require "people"

local mean, pct = figures.mean, figures.pct

local function reached(ladder, ever, people_days, days)
  local all = {}
  for _, step in ipairs(ladder.steps) do
    local users = ever[step] or 0
    all[step] = { users = users, pct = pct(users * days, people_days) }
  end
  return all
end

local function errors_of(errors, requests)
  local all = array {}
  for _, one in ipairs(errors) do
    all[#all + 1] = { type = one.type, code = one.code, count = one.count, pct = pct(one.count, requests) }
  end
  table.sort(all, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    if a.type ~= b.type then return a.type < b.type end
    return a.code < b.code
  end)
  return all
end

--- The figures of `days` days with the sums `sum`. `window`: weekly users on the last of them. `ever`: users by what
--- they had reached by then. `due`: installs old enough for retention, by days after the install.
return function(sum, errors, days, window, ever, due)
  local n = setmetatable({}, { __index = function(_, key) return sum[key] or 0 end })
  local in_game = n.dau - n.game_off + n.game_on_again
  local uploads = n.uploads_succeeded + n.uploads_failed
  local streaks, retention = {}, {}
  for _, step in ipairs(settings.streak_steps) do
    local users = n["streak." .. step]
    streaks["day_" .. step] = { users = mean(users, days), pct = pct(users, n.dau) }
  end
  for _, after in ipairs(settings.retention_days) do
    local back, of = n["retained." .. after], due[after]
    retention["d" .. after] = { users = back, of = of, pct = pct(back, of) }
  end
  return {
    dau = mean(n.dau, days),
    wau = window,
    sessions = n.sessions,
    sessions_per_user = mean(n.sessions, n.dau),
    mean_session_seconds = mean(n.session_seconds, n.sessions_ended),
    gamification_enabled = { users = mean(in_game, days), of = mean(n.dau, days), pct = pct(in_game, n.dau) },
    mean_flirts_revealed = mean(n.revealed, n.dau),
    streaks = streaks,
    milestones = reached(people.ladders.gamification_milestone_achieved, ever, n.dau, days),
    tiers = reached(people.ladders.gamification_tier_unlocked, ever, n.dau, days),
    uploads = { success_pct = pct(n.uploads_succeeded, uploads), mean_ms = mean(n.upload_ms, n.uploads_succeeded) },
    analysis_success_pct = pct(n.analyses_completed, n.analyses_completed + n.analyses_failed),
    generation_success_pct = pct(n.sets, n.sets + n.generations_failed),
    copy = { pct = pct(n.copied, n.flirts), per_set = mean(n.copied, n.sets) },
    retention = retention,
    churn = { analytics_disabled = n.analytics_disabled, data_deleted = n.data_deleted },
    errors = errors_of(errors, n.requests),
    error_impact = {
      sessions = n.sessions_with_errors, of = n.sessions, pct = pct(n.sessions_with_errors, n.sessions),
    },
    tutorial = { completed = n.tutorial_completed, skipped = n.tutorial_skipped },
  }
end
