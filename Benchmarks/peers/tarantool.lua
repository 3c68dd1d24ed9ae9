-- The benchmark's game on Tarantool: `event(json)` is called over IPROTO and answers JSON.
-- usage: tarantool tarantool.lua FOLDER WAL_MODE
local json = require('json')
local clock = require('clock')
local fiber = require('fiber')

local folder, wal_mode = arg[1], arg[2]
box.cfg({
  listen = 'unix/:' .. folder .. '/socket', work_dir = folder, wal_mode = wal_mode,
  memtx_memory = 4 * 1024 * 1024 * 1024, checkpoint_interval = 0,
})

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

local subjects = box.schema.space.create('subjects', { if_not_exists = true })
subjects:create_index('primary', { type = 'hash', parts = { 1, 'string' }, if_not_exists = true })
local seen = box.schema.space.create('seen', { if_not_exists = true })
seen:create_index('primary', { type = 'hash', parts = { 1, 'string' }, if_not_exists = true })
seen:create_index('age', { type = 'tree', parts = { 2, 'number' }, unique = false, if_not_exists = true })

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

local function reveal(event, time)
  local held = subjects:get(event.subject)
  local day, streak, best, points, revealed, version = -1, 0, 0, 0, 0, 0
  if held then
    day, streak, best, points, revealed, version = held[2], held[3], held[4], held[5], held[6], held[7]
  end
  local today = math.floor(time / 86400)
  if day ~= today then
    streak = day == today - 1 and streak + 1 or 1
    best = math.max(best, streak)
  end
  local times = multiplier(streak)
  local earned = POINTS * times
  points, revealed, version = points + earned, revealed + 1, version + 1
  local reached
  for _, milestone in ipairs(MILESTONES) do
    if revealed == milestone.at then
      points = points + milestone.reward
      reached = { name = milestone.name, reward = milestone.reward }
    end
  end
  local name = tier(revealed, best)
  subjects:replace({ event.subject, today, streak, best, points, revealed, version, name })
  return {
    subject = event.subject, id = event.id, duplicate = false, version = version,
    decisions = {
      points = { earned = earned, multiplier = times, total = points }, streak = streak, tier = name,
      milestone = reached,
    },
  }
end

function event(text)
  local incoming = json.decode(text)
  local time = clock.realtime()
  local id = incoming.subject .. ':' .. incoming.source .. ':' .. incoming.id
  if seen:get(id) then
    return json.encode({ subject = incoming.subject, id = incoming.id, duplicate = true })
  end
  box.begin()
  seen:insert({ id, time })
  local answer = { subject = incoming.subject, id = incoming.id, duplicate = false, decisions = {} }
  if incoming.type == 'flirt.revealed' then answer = reveal(incoming, time) end
  box.commit()
  return json.encode(answer)
end

box.schema.func.create('event', { if_not_exists = true })
box.schema.user.grant('guest', 'execute', 'function', 'event', { if_not_exists = true })
box.schema.user.grant('guest', 'read,write', 'space', 'subjects', { if_not_exists = true })
box.schema.user.grant('guest', 'read,write', 'space', 'seen', { if_not_exists = true })

-- Ids are remembered for two days: the oldest go first.
fiber.create(function()
  while true do
    fiber.sleep(60)
    local oldest = clock.realtime() - WINDOW
    for _, tuple in seen.index.age:pairs(oldest, { iterator = 'LT' }):take(10000) do seen:delete(tuple[1]) end
  end
end)

io.open(folder .. '/ready', 'w'):close()
