-- The declarations of the settings, which are checked at load, those of the configuration too.

-- A device's state, with its link and its values, holds 256 KiB.
local function bytes(most, about) return { type = "integer", min = 1, max = most, about = about } end

local fields = require "fields"
local figures = require "figures"

local function is_lower(source) return source == text.lower(source), "sources are compared in lower case" end

setting "reprompt_days" {
  type = "number", min = 0, max = 3650, about = "Days of 24 hours between a prompt and the next.",
}
setting "reprompt_statuses.*" { type = "string", one_of = { "not-determined", "authorized", "denied", "restricted" } }
setting "reprompt_on" { type = { "string" }, min = 1, about = "Events that check whether to ask again." }
setting "platforms.*" {
  type  = { asks = "boolean?", extinfo = "string?" },
  about = "Whether tracking needs consent there; the version of Meta's extinfo, empty for no conversions.",
}
setting "platforms.*.extinfo" {
  type  = "string?",
  check = function(version) return version == "" or version:find "^%l%d+$" ~= nil, "a version is i2, a2 or such" end,
}
setting "click_ids.*" {
  type = "string", min = 1, check = is_lower, about = "The source that this parameter of a link proves.",
}
setting "click_ids.fbclid" {
  type  = "string?",
  check = function(source, all)
    return fields.is_one_of(source, all.facebook_sources), "facebook_sources does not have it"
  end,
}
setting "facebook_sources" { type = { "string" }, about = "Values of utm_source that are Facebook's, in lower case." }
setting "facebook_sources.*" { type = "string", check = is_lower }
setting "counted_sources" { type = { "string" }, about = "In lower case; the others count as “other”." }
setting "counted_sources.*" { type = "string", check = is_lower }
setting "client_event" { type = "string", min = 1, about = "The name of both events in the Facebook SDK." }
setting "expire_days" { type = "number", min = 0, about = "Older events are not sent." }
setting "keep" (figures.keeping "How long the installs of a day are kept after the last one.")
setting "url" { type = "url?", about = "Where conversions go, with {pixel_id}; without it, the URL of the sink." }
setting "pixel_id" {
  type  = "any",
  check = function(id) return type(id) == "string" or math.type(id) == "integer", "an id is digits or a text" end,
  about = "Replaces {pixel_id} in the URL.",
}
setting "url_bytes" (bytes(65536, "A longer link has no attribution."))
setting "value_bytes" (bytes(65536, "A longer value in a link is dropped."))
setting "device_bytes" (bytes(4096, "A longer value of the device counts as unknown."))
setting "users_kept" {
  type = "integer", min = 1, max = 500, about = "Users whose accounts a device hears of; of more the first is let go.",
}
