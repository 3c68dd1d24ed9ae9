-- The game as a whole: bands of points, tiers, points by day.
local function copy(t, subject, times)
  for _ = 1, times or 1 do t:event(subject, "flirt.copied", { flirt_index = 0 }) end
end

local function reveal(t, subject, times)
  for _ = 1, times do
    t:event(subject, "flirt.revealed", { flirt_index = 0, scroll_duration_ms = 900, reveal_method = "scroll" })
  end
end

local BANDS = { standings = { bands = { 30, 60 } } }

test "the leaderboard counts players by band, from the top" (function(t)
  t:settings(BANDS)
  t:equal(t:query(nil, "leaderboard"), {
    players = 0, you = json.null,
    bands = {
      { from = 60, players = 0, above = 0 }, { from = 30, players = 0, above = 0 },
      { from = 0, players = 0, above = 0 },
    },
  })
  copy(t, "user:a")
  copy(t, "user:b", 2)
  copy(t, "user:c", 4)
  copy(t, "user:d", 5)
  local board = t:query("user:b", "leaderboard")
  t:equal(board.bands, {
    { from = 60, players = 2, above = 0 }, { from = 30, players = 1, above = 2 }, { from = 0, players = 1, above = 3 },
  })
  t:equal(board.players, 4)
  t:equal(board.you, { from = 30, points = 30, best_rank = 3, worst_rank = 3 })
  t:equal(t:query("user:d", "leaderboard").you, { from = 60, points = 75, best_rank = 1, worst_rank = 2 })
  t:equal(t:query("user:new", "leaderboard").you, json.null)
end)

test "spending moves a player down, deleting the data takes them out" (function(t)
  t:settings(BANDS)
  copy(t, "user:a", 4)
  t:event("user:a", "points.spent", { amount = 40 })
  t:equal(t:query("user:a", "leaderboard").you.from, 0)
  t:event("user:a", "data.deleted", {})
  t:equal(t:query(nil, "leaderboard").players, 0)
  t:event("user:a", "data.deleted", {})
  t:equal(t:query(nil, "leaderboard").players, 0)
end)

test "deleting the account takes a player out, too, who is counted once when they return" (function(t)
  for _, subject in ipairs { "user:a", "user:b", "device:1" } do copy(t, subject) end
  t:event("user:a", "account.deleted", {})
  t:event("device:1", "account.deleted", {})
  t:equal({ t:query(nil, "leaderboard").players, t:state("user:a") }, { 2, {} })
  copy(t, "user:a")
  t:equal(t:query(nil, "leaderboard").players, 3)
  t:event("user:new", "account.deleted", {})
  t:equal(t:query(nil, "leaderboard").players, 3)
end)

test "points by day are kept for fourteen months, and players as long as they play" (function(t)
  t:event("user:a", "flirt.rated", { rating = 4 })
  t:advance "426d"
  local totals = t:query(nil, "totals")
  t:equal({ totals.players, totals.points }, { 1, array {} })
end)

test "totals have points by day and cause, and players by tier" (function(t)
  t:at("2025-11-01T09:00:00Z")
  reveal(t, "user:a", 10)
  t:advance("1d")
  copy(t, "user:b", 2)
  t:event("user:b", "points.spent", { amount = 10 })
  local totals = t:query(nil, "totals")
  t:equal(totals.players, 2)
  t:equal(totals.tiers, { silver = 1, gold = 0, platinum = 0 })
  t:equal(totals.points, {
    { day = "2025-11-01", cause = "milestone:explorer", points = 100 },
    { day = "2025-11-01", cause = "scroll_reveal", points = 100 },
    { day = "2025-11-02", cause = "copy_flirt", points = 30 },
    { day = "2025-11-02", cause = "spend", points = -10 },
  })
  local backwards = { from = "2025-11-02", to = "2025-11-01" }
  t:fails(function() t:query(nil, "totals", backwards) end, "`from` is after `to`")
  t:equal(#t:query(nil, "totals", { from = "2025-11-02", to = "2025-11-02" }).points, 2)
  t:equal(#t:query(nil, "totals", { to = "2025-10-31" }).points, 0)
  t:fails(function() t:query(nil, "totals", { to = 20251031 }) end, "must be a string")
  t:event("user:a", "data.deleted", {})
  t:equal(t:query(nil, "totals").tiers, { silver = 0, gold = 0, platinum = 0 })
end)

test "with other bands and tiers players are those that they were, until they play" (function(t)
  copy(t, "user:a", 7)
  reveal(t, "user:b", 10)
  reveal(t, "user:c", 50)
  t:settings {
    standings = { bands = { 300, 400 } },
    tiers     = { { name = "iron", revealed = 5 }, { name = "silver", revealed = 10 } },
  }
  local board = t:query("user:a", "leaderboard")
  t:equal(board.bands, {
    { from = 400, players = 1, above = 0 }, { from = 300, players = 0, above = 1 },
    { from = 0, players = 2, above = 1 },
  })
  t:equal(board.you, { from = 0, points = 105, best_rank = 2, worst_rank = 3 })
  t:event("user:b", "data.deleted", {})
  t:event("user:c", "data.deleted", {})
  t:equal(t:query(nil, "totals").tiers, { iron = 0, silver = 1 })
end)

test "without further bands all players share one" (function(t)
  t:settings { standings = { bands = {} } }
  reveal(t, "user:a", 10)
  t:equal(t:query("user:a", "leaderboard").you, { from = 0, points = 200, best_rank = 1, worst_rank = 1 })
end)
