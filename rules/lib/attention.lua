-- One budget of a user's attention for the messages of all plugins: caps, quiet hours, hours to send in, a digest.
--
-- Any plugin asks with `attention.ask`. One plugin keeps the budget: it hears `attention.asked` and calls the others.

local caps = require "caps"
local fields = require "fields"
local hours = require "hours"
local options_of = require "options"

local attention = {}

local MOST_WAITING = 50
event("attention.asked", {
  from = "rules", kind = "string", key = "string?", urgent = "boolean?", data = "any?",
}, { about = "A plugin asks to send a message." })
event("attention.due", { from = "rules" }, { about = "A message that waited is due." })

--- Asks the plugin that keeps the budget to send a message: `{ kind, key?, urgent?, data? }`.
function attention.ask(message) raise("attention.asked", message) end

local function caps_of(options, kind) return options.kinds and options.kinds[kind] end

-- Takes the message that waits under a key, which another one replaces.
local function replace(kept, key)
  local place = key and fields.find(kept.waiting or {}, "key", key)
  if place then table.remove(kept.waiting, place) end
end

-- Counts a message that leaves, for all and for its kind.
local function spend(kept, options, at, message)
  local kind = message.kind
  replace(kept, message.key)
  kept.sent = caps.note(options.caps, kept.sent, at)
  kept.kinds = kept.kinds or {}
  kept.kinds[kind] = caps.note(caps_of(options, kind), kept.kinds[kind], at)
end

-- Why a message can't leave at a moment, by the caps.
local function capped(kept, options, at, kind)
  if at < caps.free(options.caps, kept.sent) then return "cap" end
  if at < caps.free(caps_of(options, kind), kept.kinds and kept.kinds[kind]) then return "kind_cap" end
end

-- The first moment from `at` on that the hours allow, and why not before.
local function awake(options, at)
  local quiet = hours.after(options.quiet, at)
  if quiet > at then return quiet, "quiet" end
  if not options.window then return at end
  local inside, change = hours.within(options.window, at)
  if inside then return at end
  return change, "window"
end

-- A message as it is told, with the reason why it is dropped, if it is.
local function told(message, reason)
  return { kind = message.kind, key = message.key, data = message.data, items = message.items, reason = reason }
end

-- Keeps a message for later; one with the same key is replaced. The oldest makes room: it is the last result.
local function wait(kept, options, message, reason, till)
  replace(kept, message.key)
  local waiting = kept.waiting or array {}
  waiting[#waiting + 1] = {
    kind = message.kind, key = message.key, data = message.data, reason = reason, till = till,
  }
  kept.waiting = waiting
  local oldest = #waiting > (options.most_waiting or MOST_WAITING) and table.remove(waiting, 1)
  return "hold", reason, till, oldest and told(oldest, "full") or nil
end

-- When the digest leaves next.
local function digest_at(digest, at)
  local day = calendar.day(at, digest.zone)
  local today = calendar.at(day, digest.at, digest.zone)
  return at < today and today or calendar.at(day + 1, digest.at, digest.zone)
end

local function check(options)
  options_of.may("attention", "most_waiting", options.most_waiting, options_of.count)
  local digest = options.digest
  if not digest then return end
  options_of.need("attention: digest", "kinds", digest.kinds, options_of.table)
  options_of.need("attention: digest", "at", digest.at, options_of.text)
  options_of.need("attention: digest", "zone", digest.zone, options_of.zone)
end

--- The outcome of a message: `send` now, which counts; `hold` till a moment, with `digest`, `quiet` or `window` as the
--- reason; `drop`, with `cap` or `kind_cap`. An urgent message is always sent, and counts. The fourth result is the
--- oldest message that waited, where it makes room for this one, with `full` as its `reason`.
function attention.judge(kept, options, at, message)
  check(options)
  local kind = message.kind
  if message.urgent then
    spend(kept, options, at, message)
    return "send"
  end
  local digest = options.digest
  if digest and fields.is_one_of(kind, digest.kinds) then
    return wait(kept, options, message, "digest", digest_at(digest, at))
  end
  local till, reason = awake(options, at)
  if reason then return wait(kept, options, message, reason, till) end
  local cap = capped(kept, options, at, kind)
  if cap then return "drop", cap end
  spend(kept, options, at, message)
  return "send"
end

--- When the next message that waits is due, for a timer; nil if none waits.
function attention.due(kept)
  local first
  for _, message in ipairs(kept.waiting or {}) do first = math.min(first or message.till, message.till) end
  return first
end

-- Those that are due leave the list of the waiting ones.
local function take_due(kept, at)
  local due, rest = {}, array {}
  for _, message in ipairs(kept.waiting or {}) do
    if message.till <= at then due[#due + 1] = message else rest[#rest + 1] = message end
  end
  kept.waiting = #rest > 0 and rest or nil
  return due
end

-- Puts the digest's messages into one of the kind `digest`, the last one, with the messages as `items`.
local function with_digest(due)
  local all, digest = {}, nil
  for _, message in ipairs(due) do
    if message.reason == "digest" then
      digest = digest or { kind = "digest", items = array {} }
      digest.items[#digest.items + 1] = { kind = message.kind, key = message.key, data = message.data }
    else
      all[#all + 1] = message
    end
  end
  all[#all + 1] = digest
  return all
end

--- The messages that waited and leave now, and those that are dropped, each with its `reason`. A message for which it
--- is still too early, as the settings are others now, waits on.
function attention.release(kept, options, at)
  check(options)
  local leaving, dropped = array {}, array {}
  for _, message in ipairs(with_digest(take_due(kept, at))) do
    local till, asleep = awake(options, at)
    local cap = capped(kept, options, at, message.kind)
    if asleep and message.kind ~= "digest" then
      dropped[#dropped + 1] = select(4, wait(kept, options, message, asleep, till))
    elseif cap then
      dropped[#dropped + 1] = told(message, cap)
    else
      spend(kept, options, at, message)
      leaving[#leaving + 1] = told(message)
    end
  end
  return leaving, dropped
end

return attention
