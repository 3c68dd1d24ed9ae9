-- The content of links.json, checked: the paths of the links, the targets of links, and the screens that lead to each
-- destination. The one table of paths routes in the app, makes Apple's and Google's files, and tells the website which
-- paths to redirect. New marketing channels use query parameters, not new paths.

local fields = require "fields"
local routes = require "routes"

local paths = {}

local FILE = "links.json"
local LINKS = data("links.json")

fields.check_members(FILE, LINKS, { "facts", "flows", "targets", "routes" })

paths.flows = routes.flows(LINKS.flows, LINKS.facts, FILE)
paths.routes = routes.new(LINKS.routes, paths.flows, FILE)
paths.targets = routes.targets(LINKS.targets, paths.flows, FILE)

return paths
