-- The key figures of a row: those of figures.json, and those that count users, sessions and errors. What the file
-- says is read once, at load.

local codes    = require "codes"
local figures  = require "figures"
local measures = require "measures"
local people   = require "people"

local key_figures = {}

local mean, pct = figures.mean, figures.pct

-- A list of `{ name, read }`: for each member of a table the function that `reader` makes of it.
local function readers(of, reader)
  local list = {}
  for name, inner in pairs(of) do list[#list + 1] = { name = name, read = reader(inner, name) } end
  return list
end

local function read_all(list, into, ...)
  for _, one in ipairs(list) do into[one.name] = one.read(...) end
  return into
end

-- The figure that figures.json describes, or a table of figures.
local function described(of)
  local figure, ratio = of.sum or of.mean or of.pct, of.mean and mean or pct
  if type(figure) ~= "string" then
    local list = readers(of, described)
    return function(n) return read_all(list, {}, n) end
  end
  if of.sum then return function(n) return n[figure] or 0 end end
  local parts = { table.unpack(of.of) }
  return function(n)
    local whole = 0
    for _, name in ipairs(parts) do whole = whole + (n[name] or 0) end
    return ratio(n[figure] or 0, whole)
  end
end

local function level(of, name)
  local steps = {}
  for i, step in ipairs(of.steps) do steps[i] = { name = of.step .. step, figure = "level." .. name .. "." .. step } end
  return function(n, days, dau)
    local all = {}
    for _, step in ipairs(steps) do
      local users = n[step.figure] or 0
      all[step.name] = { users = mean(users, days), pct = pct(users, dau) }
    end
    return all
  end
end

local function switch(_, name)
  local off, on_again = "off." .. name, "on_again." .. name
  return function(n, days, dau)
    local on = dau - (n[off] or 0) + (n[on_again] or 0)
    return { users = mean(on, days), of = mean(dau, days), pct = pct(on, dau) }
  end
end

local function returned(after)
  local retained, due = "retained." .. after, "due." .. after
  return { name = "d" .. after, read = function(n)
    local back, of = n[retained] or 0, n[due] or 0
    return { users = back, of = of, pct = pct(back, of) }
  end }
end

local FILE, RETENTION = readers(measures.key_figures, described), {}
local LEVELS, SWITCHES = readers(measures.levels, level), readers(measures.switches, switch)
for i, after in ipairs(settings.retention_days) do RETENTION[i] = returned(after) end

--- The steps of all ladders: those of the plan, and further ones that users have `reached`, which rules reported.
function key_figures.steps(reached)
  local all, known = {}, {}
  local function add(ladder, step)
    local figure = ladder .. "." .. step
    if known[figure] then return end
    known[figure] = true
    all[#all + 1] = { ladder = ladder, name = step, reached = "reached." .. figure, active = "active." .. figure }
  end
  for ladder, of in pairs(measures.ladders) do
    for _, step in ipairs(people.steps(of)) do add(ladder, step) end
  end
  for figure in pairs(reached) do add(figure:match("^reached%.([^.]+)%.(.+)$")) end
  return all
end

--- The figures of a row, where `reached` says how many users had reached each of the `steps` by its end.
function key_figures.of(row, steps, reached)
  local n, days = row.n, row.last - row.first + 1
  local dau, sessions, with_errors = n.dau or 0, n.sessions or 0, n.sessions_with_errors or 0
  local all = {
    dau = mean(dau, days), wau = row.wau, sessions = sessions, sessions_per_user = mean(sessions, dau),
    retention = read_all(RETENTION, {}, n),
    errors = row.errors and codes.listed(row.errors, n[measures.errors.of] or 0),
    error_impact = { sessions = with_errors, of = sessions, pct = pct(with_errors, sessions) },
  }
  for _, step in ipairs(steps) do
    local ladder = all[step.ladder] or {}
    all[step.ladder] = ladder
    ladder[step.name] = { users = reached[step.reached] or 0, pct = pct(n[step.active] or 0, dau) }
  end
  read_all(FILE, all, n)
  read_all(LEVELS, all, n, days, dau)
  return read_all(SWITCHES, all, n, days, dau)
end

return key_figures
