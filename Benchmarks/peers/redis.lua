#!lua name=streaks
-- The benchmark's game as a Redis function: KEYS[1] is the subject, ARGV[1] the event's JSON; answers JSON.
local MULTIPLIERS = { { streak = 7, times = 3 }, { streak = 3, times = 2 } }
local MILESTONES = {
  { at = 10, name = 'explorer', reward = 100 },
  { at = 50, name = 'connoisseur', reward = 500 },
  { at = 100, name = 'master', reward = 1500 },
}
local TIERS = {
  { name = 'platinum', revealed = 100, streak = 30 },
  { name = 'gold', revealed = 50, streak = 7 },
  { name = 'silver', revealed = 10, streak = 3 },
}
local POINTS, WINDOW = 10, 48 * 3600

local function multiplier(streak)
  for _, step in ipairs(MULTIPLIERS) do
    if streak >= step.streak then return step.times end
  end
  return 1
end

local function tier(revealed, best)
  for _, step in ipairs(TIERS) do
    if revealed >= step.revealed or best >= step.streak then return step.name end
  end
  return 'bronze'
end

local function reveal(keys, args)
  local event = cjson.decode(args[1])
  local seen = 'seen:' .. keys[1] .. ':' .. event.source .. ':' .. event.id
  if not redis.call('SET', seen, '1', 'NX', 'EX', WINDOW) then
    return cjson.encode({ subject = keys[1], id = event.id, duplicate = true })
  end
  if event.type ~= 'flirt.revealed' then
    return cjson.encode({ subject = keys[1], id = event.id, duplicate = false, decisions = {} })
  end
  local held = redis.call('HMGET', keys[1], 'day', 'streak', 'best', 'points', 'revealed', 'version')
  local day, streak, best = tonumber(held[1] or -1), tonumber(held[2] or 0), tonumber(held[3] or 0)
  local points, revealed, version = tonumber(held[4] or 0), tonumber(held[5] or 0), tonumber(held[6] or 0) + 1
  local today = math.floor(tonumber(redis.call('TIME')[1]) / 86400)
  if day ~= today then
    streak = day == today - 1 and streak + 1 or 1
    best = math.max(best, streak)
  end
  local times = multiplier(streak)
  local earned = POINTS * times
  points, revealed = points + earned, revealed + 1
  local reached
  for _, milestone in ipairs(MILESTONES) do
    if revealed == milestone.at then
      points = points + milestone.reward
      reached = { name = milestone.name, reward = milestone.reward }
    end
  end
  local name = tier(revealed, best)
  redis.call('HSET', keys[1], 'day', today, 'streak', streak, 'best', best, 'points', points, 'revealed', revealed,
    'version', version, 'tier', name)
  return cjson.encode({
    subject = keys[1], id = event.id, duplicate = false, version = version,
    decisions = {
      points = { earned = earned, multiplier = times, total = points }, streak = streak, tier = name,
      milestone = reached,
    },
  })
end

redis.register_function('event', reveal)
