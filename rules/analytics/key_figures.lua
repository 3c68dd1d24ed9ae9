-- The key figures of a row: those of figures.json, and those that count users, sessions and errors.

local figures  = require "figures"
local measures = require "measures"
local people   = require "people"

local mean, pct = figures.mean, figures.pct

-- The figure that figures.json describes, or a table of such.
local function described(of, n)
  local figure = of.sum or of.mean or of.pct
  if type(figure) ~= "string" then
    local all = {}
    for name, inner in pairs(of) do all[name] = described(inner, n) end
    return all
  end
  local value, whole = n[figure] or 0, 0
  for _, name in ipairs(of.of or {}) do whole = whole + (n[name] or 0) end
  if of.sum then return value end
  return of.mean and mean(value, whole) or pct(value, whole)
end

-- Of each step those who had reached it by then, and which share of the days' users had.
local function ladder_of(name, of, n, ever)
  local all, prefix = {}, "reached." .. name .. "."
  local function add(step)
    all[step] = { users = ever[prefix .. step] or 0, pct = pct(n["active." .. name .. "." .. step] or 0, n.dau or 0) }
  end
  for _, step in ipairs(people.steps(of)) do add(step) end
  for figure in pairs(ever) do
    if figure:find(prefix, 1, true) == 1 then add(figure:sub(#prefix + 1)) end
  end
  return all
end

local function levels_of(name, of, n, days)
  local all = {}
  for _, step in ipairs(of.steps) do
    local users = n["level." .. name .. "." .. step] or 0
    all[of.step .. step] = { users = mean(users, days), pct = pct(users, n.dau or 0) }
  end
  return all
end

local function switch_of(name, n, days)
  local dau = n.dau or 0
  local on = dau - (n["off." .. name] or 0) + (n["on_again." .. name] or 0)
  return { users = mean(on, days), of = mean(dau, days), pct = pct(on, dau) }
end

local function retention_of(n)
  local all = {}
  for _, after in ipairs(settings.retention_days) do
    local back, of = n["retained." .. after] or 0, n["due." .. after] or 0
    all["d" .. after] = { users = back, of = of, pct = pct(back, of) }
  end
  return all
end

local function errors_of(errors, requests)
  local all = array {}
  for _, one in pairs(errors) do
    all[#all + 1] = { type = one.type, code = one.code, count = one.count, pct = pct(one.count, requests) }
  end
  table.sort(all, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    if a.type ~= b.type then return a.type < b.type end
    return a.code < b.code
  end)
  return all
end

--- The figures of a row, where `ever` says who had reached what by its end.
return function(row, ever)
  local n, days = row.n, row.last - row.first + 1
  local dau, sessions, with_errors = n.dau or 0, n.sessions or 0, n.sessions_with_errors or 0
  local all = {
    dau = mean(dau, days), wau = row.wau, sessions = sessions, sessions_per_user = mean(sessions, dau),
    retention = retention_of(n), errors = errors_of(row.errors, n[measures.errors.of] or 0),
    error_impact = { sessions = with_errors, of = sessions, pct = pct(with_errors, sessions) },
  }
  for name, of in pairs(measures.key_figures) do all[name] = described(of, n) end
  for name, of in pairs(measures.ladders) do all[name] = ladder_of(name, of, n, ever) end
  for name, of in pairs(measures.levels) do all[name] = levels_of(name, of, n, days) end
  for name in pairs(measures.switches) do all[name] = switch_of(name, n, days) end
  return all
end
