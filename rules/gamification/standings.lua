-- The game as a whole: how many players have how many points, who reached which tier, and what was earned and spent on
-- each day. Counters that all players share, which name nobody.
local standings = {}

local PLAYERS, TIERS, EARNED = "gamification.players", "gamification.tiers", "gamification.earned"

-- The lower edge of the band that a number of points is in.
local function band_of(points)
  local band = 0
  for _, edge in ipairs(settings.standings.bands) do
    if points < edge then break end
    band = edge
  end
  return band
end

local function count_tiers(state, change)
  for _, tier in ipairs(settings.tiers) do
    if not state.tier then return end
    count(TIERS, { tier = tier.name }, change)
    if tier.name == state.tier then return end
  end
end

--- Moves a player to the band of the points that they have now; a player who was in none joins.
function standings.update(state)
  local band = band_of(state.points)
  if state.band == band then return end
  if state.band then
    count(PLAYERS, { from = state.band }, -1)
  else
    count_tiers(state, 1)
  end
  count(PLAYERS, { from = band })
  state.band = band
end

--- Takes a player out who deletes their data.
function standings.leave(state)
  if not state.band then return end
  count(PLAYERS, { from = state.band }, -1)
  count_tiers(state, -1)
end

--- Counts a tier that a player reached.
function standings.note_tier(name) count(TIERS, { tier = name }) end

--- Adds points that were earned, or spent if they are negative, to the day's sum of their cause.
function standings.note_points(cause, points)
  count(EARNED, { day = calendar.date(now(), "UTC"), cause = cause }, points)
end

local function players_by_band()
  local players, all = {}, 0
  for _, counter in ipairs(counters(PLAYERS)) do
    players[tonumber(counter.labels.from)] = counter.value
    all = all + counter.value
  end
  return players, all
end

--- The query `gamification.leaderboard`: the bands from the top, each with its players and with how many are above it.
--- `you` is the subject's own band, null for who has not played.
function standings.leaderboard(state)
  local players, all = players_by_band()
  local bands, above, you = array {}, 0, json.null
  local edges = { 0 }
  for _, edge in ipairs(settings.standings.bands) do edges[#edges + 1] = edge end
  for i = #edges, 1, -1 do
    local here = players[edges[i]] or 0
    bands[#bands + 1] = { from = edges[i], players = here, above = above }
    if state and state.band == edges[i] then
      you = { from = edges[i], points = state.points, best_rank = above + 1, worst_rank = above + here }
    end
    above = above + here
  end
  return { players = all, bands = bands, you = you }
end

--- The query `gamification.totals {from, to}`: points by day and cause, and players by tier. Days are like 2025-11-01.
function standings.totals(_, args)
  local days = array {}
  for _, counter in ipairs(counters(EARNED)) do
    local day = counter.labels.day
    if (not args.from or day >= args.from) and (not args.to or day <= args.to) then
      days[#days + 1] = { day = day, cause = counter.labels.cause, points = counter.value }
    end
  end
  table.sort(days, function(left, right)
    if left.day ~= right.day then return left.day < right.day end
    return left.cause < right.cause
  end)
  local reached = {}
  for _, tier in ipairs(settings.tiers) do reached[tier.name] = 0 end
  for _, counter in ipairs(counters(TIERS)) do reached[counter.labels.tier] = counter.value end
  local _, all = players_by_band()
  return { players = all, tiers = reached, points = days }
end

return standings
