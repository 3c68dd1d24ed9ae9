-- The names of events for analytics: the plugin's name and the action, as in `gamification_points_awarded`. So a copy
-- of the plugin tells events of its own. Three have other names in Vibe8's document.

local DOCUMENTED = {
  gamification = {
    toggled = "settings_gamification_toggled", exported = "settings_data_exported", deleted = "settings_data_deleted",
  },
}

local names = DOCUMENTED[plugin.name] or {}

return function(what) return names[what] or plugin.name .. "_" .. what end
