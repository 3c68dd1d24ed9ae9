-- The game as a whole: the numbers of players by points and by tier, and the points earned and spent on each day.
-- Counters that all players share, which name nobody.
local figures = require "figures"
local points = require "points"

local standings = {}

local EDGES = settings.standings.bands
local ABOVE = figures.above(EDGES)

local KEPT = { keep = settings.keep }
local PLAYERS, TIERS, EARNED = plugin.name .. ".players", plugin.name .. ".tiers", plugin.name .. ".earned"

-- A tier that the settings had earlier counts no more.
local function count_tiers(state, change)
  for place = 1, points.place(settings.tiers, state.tier) or 0 do
    count(TIERS, { tier = settings.tiers[place].name }, change)
  end
end

--- Moves a player to the band of the points that they have now; a player who was in none joins.
function standings.place(state)
  local before, total = state.band, state.points
  local above = ABOVE[before or false]
  if above and total >= before and total < above then return end
  local band = figures.band(EDGES, total)
  if not before then count_tiers(state, 1) end
  figures.move(PLAYERS, "from", before, band)
  state.band = band
end

--- Adds points that were earned, or spent if they are negative, to the day's sum of their cause, and places the player.
function standings.update(state, at, cause, n)
  if n ~= 0 then figures.add(EARNED, at, { cause = cause }, n, KEPT) end
  standings.place(state)
end

--- Takes a player out, who deletes their data or moves to another subject.
function standings.leave(state)
  if not state.band then return end
  figures.move(PLAYERS, "from", state.band)
  count_tiers(state, -1)
  state.band = nil
end

--- Counts a tier that a player reached.
function standings.note_tier(name) figures.move(TIERS, "tier", nil, name) end

--- The query `leaderboard`: the bands from the top, each with its players and with how many are above it.
--- `you` is the subject's own band, null for who has not played. Bands that the settings had earlier count in the
--- present ones.
function standings.leaderboard(state)
  local counted, all = figures.by(PLAYERS, "from")
  local players, bands, above, you = {}, array {}, 0, json.null
  for from, n in pairs(counted) do
    local band = figures.band(EDGES, tonumber(from))
    players[band] = (players[band] or 0) + n
  end
  local own = state and state.band and figures.band(EDGES, state.band)
  for i = #EDGES, 0, -1 do
    local from = EDGES[i] or 0
    local here = players[from] or 0
    bands[#bands + 1] = { from = from, players = here, above = above }
    if own == from then
      you = { from = from, points = state.points, best_rank = above + 1, worst_rank = above + here }
    end
    above = above + here
  end
  return { players = all, bands = bands, you = you }
end

--- The query `totals {from, to}`: points by day and cause, of the days that are kept, and the present players by tier.
function standings.totals(_, args)
  local reached, counted = {}, figures.by(TIERS, "tier")
  for _, tier in ipairs(settings.tiers) do reached[tier.name] = math.max(0, counted[tier.name] or 0) end
  local _, all = figures.by(PLAYERS, "from")
  return { players = all, tiers = reached, points = figures.days(EARNED, "cause", "points", args) }
end

return standings
