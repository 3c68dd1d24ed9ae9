-- When to ask a user again: after how long, how often, from what event on, with caps and quiet hours.

local caps = require "caps"
local hours = require "hours"
local options_of = require "options"

local reprompt = {}

local WAIT = options_of.kind("seconds, or a list of them", function(after)
  local list = type(after) == "table" and after or { after }
  for _, seconds in ipairs(list) do
    if options_of.amount(seconds) then return false end
  end
  return list[1] ~= nil
end)

local function check(options)
  options_of.need("reprompt", "after", options.after, WAIT)
  options_of.may("reprompt", "most", options.most, options_of.count)
end

-- The wait after so many prompts: one for all, or a list whose last one is repeated.
local function wait(after, prompts)
  return type(after) == "table" and after[math.min(prompts + 1, #after)] or after
end

--- Notes that the user was asked.
function reprompt.asked(kept, options, at)
  check(options)
  kept.prompted_at = at
  if options.most or type(options.after) == "table" then kept.prompts = (kept.prompts or 0) + 1 end
  kept.prompt_times = caps.note(options.caps, kept.prompt_times, at)
end

-- From when on the wait and the caps allow it, whatever the hour; nil for never, and why.
local function free(kept, options, from)
  check(options)
  local prompts = kept.prompts or 0
  if not from then return nil, "not_begun" end
  if options.most and prompts >= options.most then return nil, "most" end
  local at, reason = math.max(from, kept.prompted_at or from) + wait(options.after, prompts), "too_soon"
  local capped_till = caps.free(options.caps, kept.prompt_times)
  if capped_till == math.huge then return nil, "cap" end
  if capped_till > at then at, reason = capped_till, "cap" end
  return at, reason
end

--- When to ask next, and why not before: `too_soon` or `cap`. Nil for never, and why: `not_begun`, `most` or `cap`.
--- `from` is the event that the asking begins with, such as a denial; nil if there was none.
function reprompt.next(kept, options, from)
  local at, reason = free(kept, options, from)
  return at and hours.after(options.quiet, at), reason
end

--- Whether to ask now. If not: why, as `next` says or `quiet`, and when it will be time; nil for never.
function reprompt.due(kept, options, at, from)
  local free_at, reason = free(kept, options, from)
  if not free_at then return false, reason end
  if at < free_at then return false, reason, hours.after(options.quiet, free_at) end
  local awake = hours.after(options.quiet, at)
  if at < awake then return false, "quiet", awake end
  return true
end

return reprompt
