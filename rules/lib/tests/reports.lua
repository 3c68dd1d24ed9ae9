-- Plans that make no sense, which are found at load.
local fields = require "fields"
local reports = require "reports"

local OPTIONS = { name_length = 40, violations_listed = 10, bins = { points = { 10 } }, unknown_properties = "drop" }

test "a member that a file can't have does not load" (function(t)
  fields.check_members("links.json", { routes = {} }, { "flows", "routes" })
  t:fails(function() fields.check_members("links.json", { rutes = {} }, { "flows", "routes" }) end,
    "links.json: there is no 'rutes'")
end)

test "a plan that can't be right does not load, and says why" (function(t)
  local function refused(of, why, name)
    local events = { [name or "book_read"] = { x = of } }
    t:fails(function() reports.new("plan.json", events, OPTIONS) end, "plan.json: " .. why)
  end
  refused({}, "book_read.x: there is no type 'nil'")
  refused({ type = "integer" }, "book_read.x: there is no type 'integer'")
  refused({ type = "int", mn = 1 }, "book_read.x: there is no 'mn' of a property")
  refused({ type = "string", max = 5 }, "book_read.x: 'max' makes no sense of string")
  refused({ type = "string", min = 1 }, "book_read.x: 'min' makes no sense of string")
  refused({ type = "bool", min = 1 }, "book_read.x: 'min' makes no sense of bool")
  refused({ type = "bool", bins = "points" }, "book_read.x: 'bins' makes no sense of bool")
  refused({ type = "int", form = "id" }, "book_read.x: 'form' makes no sense of int")
  refused({ type = "int", min = "1" }, "book_read.x: 'min' is no number")
  refused({ type = "int", optional = "yes" }, "book_read.x: 'optional' is no boolean")
  refused({ type = "int", min = 5, max = 1 }, "book_read.x: 'min' is above 'max'")
  refused({ type = "int", min = 0.2, max = 0.8 }, "book_read.x: no int is from 'min' to 'max'")
  refused({ type = "string", values = {} }, "book_read.x: 'values' lists none")
  refused({ type = "int", values = { 1, "a" } }, "book_read.x: the value \"a\" is no int")
  refused({ type = "int", values = { 1.5 } }, "book_read.x: the value 1.5 is no int")
  refused({ type = "string", form = "cod" }, "book_read.x: there is no form 'cod'")
  refused({ type = "int", bins = "pints" }, "book_read.x: there are no bins 'pints'")
  for _, name in ipairs { "Book", "book read", "book.read", "", ("b"):rep(41) } do
    refused({ type = "int" }, "'" .. name .. "' is no name of an event", name)
  end
end)

test "a plan may bound numbers, list values of its types, and name bins" (function(t)
  local events = { [("b"):rep(40)] = {
    n = { type = "int", min = 1, max = 1.5, values = { 1.0 } }, x = { type = "double", values = { 1, 1.5 } },
    is = { type = "bool", values = { true }, derived = false }, of = { type = "string", bins = "points" },
    code = { type = "string", form = "code", optional = true },
  } }
  t:equal(reports.new("plan.json", events, OPTIONS).names, { ("b"):rep(40) })
end)
