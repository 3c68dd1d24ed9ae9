-- The reports of gamification to analytics, as they leave the daemon: analytics accepts them only when every property
-- of the plan is there, of its type and within its values. These tests need the plugin gamification beside this one.

local own = require "own"

local function consenting(t)
  t:at("2025-11-01T09:00:00Z")
  t:event("user:1", "settings.analytics_toggled", { enabled = true })
  t:event("user:1", "session.started", { session_id = "s1" })
end

-- The properties of the effect of that name that the event causes, without the session, or nil.
local function told(t, name, type, data)
  for _, effect in ipairs(own(t:event("user:1", type, data))) do
    if effect.type == name then
      effect.data.session_id = nil
      return effect.data
    end
  end
end

local REVEAL = { flirt_index = 0, scroll_duration_ms = 900, reveal_method = "scroll" }
local COPY = { flirt_index = 1, tone_used = "witty", quality_tier = "bronze" }
local RATE = { rating = 4, flirt_index = 2, tone_used = "bold", quality_tier = "gold" }

test "actions are reported with their metadata, never with content" (function(t)
  consenting(t)
  for what, data in pairs { revealed = REVEAL, copied = COPY, rated = RATE } do
    local with_content = { content = "Hello there" }
    for key, value in pairs(data) do with_content[key] = value end
    t:equal(told(t, "gamification_flirt_" .. what, "flirt." .. what, with_content), data)
  end
end)

test "the plan accepts the range of flirts that the game has" (function(t)
  consenting(t)
  local ninth = { flirt_index = 9, tone_used = "witty", quality_tier = "bronze" }
  t:settings({ ranges = { flirt_index = { lowest = 0, highest = 9 } } }, "gamification")
  t:equal(told(t, "gamification_flirt_copied", "flirt.copied", ninth), ninth)
  t:equal(t:event("user:1", "gamification_flirt_copied", ninth).decisions.violations,
    { { path = "flirt_index", kind = "range" } })
end)

test "points are reported by their base, and the balance as a range" (function(t)
  consenting(t)
  t:settings({ multipliers = { { streak = 1, times = 2 } } }, "gamification")
  t:equal(told(t, "gamification_points_awarded", "flirts.generated", { flirt_count = 3 }), {
    action = "generate_flirts", points_earned = 20, multiplier = 2.0, total_points_after = "0-100",
  })
  for _ = 1, 3 do t:event("user:1", "flirts.generated", { flirt_count = 3 }) end
  t:equal(told(t, "gamification_points_awarded", "flirt.copied", COPY).total_points_after, "101-500")
end)

test "an action that earns nothing is reported, but no points" (function(t)
  consenting(t)
  t:event("user:1", "flirts.generated", { flirt_count = 3 })
  t:event("user:1", "flirt.copied", COPY)
  t:equal(told(t, "gamification_flirt_copied", "flirt.copied", COPY), COPY)
  t:equal(told(t, "gamification_points_awarded", "flirt.copied", COPY), nil)
end)

test "a change of the streak is reported with the multipliers before and after" (function(t)
  consenting(t)
  for _ = 1, 2 do
    t:event("user:1", "flirt.copied", COPY)
    t:advance("1d")
  end
  t:event("user:1", "session.started", { session_id = "s2" })
  t:equal(told(t, "gamification_streak_updated", "flirt.copied", COPY), {
    previous_streak = 2, new_streak = 3, change_type = "increment", multiplier_before = 1.0, multiplier_after = 2.0,
  })
  t:advance("2d")
  t:event("user:1", "session.started", { session_id = "s3" })
  t:equal(told(t, "gamification_streak_updated", "flirt.copied", COPY).change_type, "freeze_used")
end)

test "a milestone and the tier that comes with it" (function(t)
  consenting(t)
  for _ = 1, 9 do t:event("user:1", "flirt.revealed", REVEAL) end
  local milestone, tier
  for _, effect in ipairs(own(t:event("user:1", "flirt.revealed", REVEAL))) do
    effect.data.session_id = nil
    if effect.type == "gamification_milestone_achieved" then milestone = effect.data end
    if effect.type == "gamification_tier_unlocked" then tier = effect.data end
  end
  t:equal(milestone, {
    milestone_type = "explorer", flirts_revealed_count = 10, reward_points = 100, days_since_install = 0,
  })
  t:equal(tier, {
    tier_unlocked = "silver", unlock_method = "flirts_revealed", flirts_revealed_count = "0-10", current_streak = 1,
    days_since_install = 0,
  })
end)

test "the tutorial is reported, with fields that the client left out" (function(t)
  consenting(t)
  t:equal(told(t, "gamification_tutorial_step_viewed", "tutorial.step_viewed", { step_number = 2 }),
    { step_number = 2, step_title = "Earn Points" })
  t:advance("30s")
  t:equal(told(t, "gamification_tutorial_skipped", "tutorial.skipped"), { step_skipped_on = 2 })
  t:equal(told(t, "gamification_tutorial_completed", "tutorial.completed"),
    { completion_time_seconds = 30, skipped = false })
end)

test "the settings' events, with counts as ranges" (function(t)
  consenting(t)
  for _ = 1, 11 do t:event("user:1", "flirt.revealed", REVEAL) end
  t:equal(told(t, "settings_gamification_toggled", "settings.gamification_toggled", { enabled = false }),
    { new_state = "disabled", days_since_install = 0, total_flirts_revealed = "11-50" })
  t:equal(told(t, "gamification_flirt_revealed", "flirt.revealed", REVEAL), nil)
  t:equal(told(t, "gamification_flirt_copied", "flirt.copied", COPY), COPY)
  t:equal(told(t, "settings_gamification_toggled", "settings.gamification_toggled", { enabled = true }).new_state,
    "enabled")
  t:equal(told(t, "settings_data_exported", "data.exported"), { export_format = "json" })
  t:equal(told(t, "settings_data_deleted", "data.deleted"),
    { days_since_install = 0, total_points_binned = "101-500" })
end)

test "tables of clients are not passed on, as they may have any number of members" (function(t)
  consenting(t)
  local person = { "anna@example.com" }
  local function refused(type, data)
    local paths = {}
    for _, effect in ipairs(own(t:event("user:1", type, data))) do
      for _, found in ipairs(effect.data.violations or {}) do paths[#paths + 1] = found.path .. " " .. found.kind end
    end
    return paths
  end
  local copied = { flirt_index = 1, tone_used = person, quality_tier = "bronze" }
  t:equal(refused("flirt.copied", copied), { "tone_used type" })
  t:equal(refused("tutorial.step_viewed", { step_number = 1, step_title = person }), { "step_title type" })
  t:equal(refused("tutorial.completed", { completion_time_seconds = person }), { "completion_time_seconds type" })
  t:equal(refused("data.exported", { export_format = person }), { "export_format type" })
end)
