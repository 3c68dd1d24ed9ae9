-- Free text of clients, with the reports that leave through the plugin analytics, if it is there.
local SECRET = "anna, dinner at eight"

-- The texts of the event's reports.
local function told(t, type, data)
  local outcome = t:event("user:1", type, data)
  t:equal(outcome.decisions.error, nil)
  local texts = {}
  for _, effect in ipairs(outcome.effects) do texts[effect.type] = json.encode(effect.data) end
  return texts
end

test "a text that is no tier, no title and no step of the game does not leave" (function(t)
  t:event("user:1", "settings.analytics_toggled", { enabled = true })
  t:event("user:1", "session.started", { session_id = "s1" })
  t:each({
    { "flirt.copied", { flirt_index = 0, tone_used = "witty", quality_tier = SECRET } },
    { "flirt.rated", { rating = 5, flirt_index = 0, tone_used = "witty", quality_tier = SECRET } },
    { "tutorial.step_viewed", { step_number = 1, step_title = SECRET } },
    { "tutorial.step_viewed", { step_number = 4917012345 } },
    { "tutorial.skipped", { step_skipped_on = 4917012345 } },
  }, function(case)
    for _, text in pairs(told(t, case[1], case[2])) do
      t:equal({ text:find(SECRET, 1, true), text:find("4917012345", 1, true) }, {})
    end
  end)
end)

test "the tiers of the settings and the first one are tiers, and nothing else is" (function(t)
  local tiers = require "tiers"
  for _, name in ipairs { "bronze", "silver", "gold", "platinum" } do
    t:equal(tiers.keep_name({ tier = name }, "tier"), { tier = name })
  end
  t:equal(tiers.keep_name({ tier = SECRET, n = 1 }, "tier"), { n = 1 })
  t:equal(tiers.keep_name({ n = SECRET }), { n = SECRET })
end)

test "a step that the tutorial does not have is not kept" (function(t)
  t:event("user:1", "tutorial.step_viewed", { step_number = 4 })
  t:equal(t:state("user:1").tutorial, {})
  t:event("user:1", "tutorial.step_viewed", { step_number = 3 })
  t:equal(t:state("user:1").tutorial.step, 3)
end)
