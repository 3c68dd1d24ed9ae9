-- Experiments of a shop: the colour of a button, and the price of shipping, of which nobody meets both.
--
-- A user who has seen an arm is exposed, once; the purchases of the exposed count. The share of each experiment is a
-- setting: one that grows moves nobody, and 0 ends the experiment for those who have no arm yet.

local experiment = require "experiment"

plugin {
  name     = "experiments",
  version  = "1.0.0",
  about    = "The shop's experiments.",
  settings = { shares = { button = 0.1, shipping = 0.5 }, holdout = 0.05, days = 14 },
}

event("cart.opened", {}, { about = "Somebody sees the cart." })
event("checkout.opened", {}, { about = "Somebody sees what shipping costs." })
event("order.paid", { order = "string", cents = "integer" }, { about = "Somebody bought something." })

state {
  version = 1,
  ["experiments?"] = {
    ["button?"]   = { arm = "string", exposed = "boolean?" },
    ["shipping?"] = { arm = "string", exposed = "boolean?" },
  },
  exposures = "object?",   -- when each experiment was seen first
}

local LAYER = { name = "checkout", weights = { button = 1, shipping = 1 } }

-- The arms, and the first of each, which is what everybody else sees.
local function offer(name, default, arms)
  local options = {
    name = name, arms = arms, share = settings.shares[name], holdout = settings.holdout, layer = LAYER,
  }
  return { name = name, default = default, options = options }
end

local BUTTON = offer("button", "blue", { blue = 1, green = 1 })
local SHIPPING = offer("shipping", "490", { ["490"] = 2, ["0"] = 1 })

local function show(state, offered)
  state.experiments, state.exposures = state.experiments or {}, state.exposures or {}
  local arm, first = experiment.expose(state.experiments, offered.options)
  if first == true then
    state.exposures[offered.name] = now()
    count("experiments.exposed", { experiment = offered.name, arm = arm })
  end
  decide(offered.name, arm or offered.default)
end

rule "cart" { on = "cart.opened", run = function(_, state) show(state, BUTTON) end }

rule "checkout" { on = "checkout.opened", run = function(_, state) show(state, SHIPPING) end }

-- An order counts for each experiment that was seen in the days before, once for each order.
rule "paid" {
  on   = "order.paid",
  when = function(_, state) return state.exposures end,
  run  = function(event, state)
    if not once("order " .. event.data.order) then return end
    for name, at in pairs(state.exposures) do
      if now() < at + settings.days * 86400 then
        local labels = { experiment = name, arm = state.experiments[name].arm }
        count("experiments.orders", labels)
        count("experiments.cents", labels, event.data.cents)
      end
    end
  end,
}

query "results" {
  about = "Exposed users, orders and money of each arm.",
  args  = { experiment = "string" },
  run   = function(_, args)
    local arms = {}
    for _, counter in ipairs(counters("experiments.")) do
      if counter.labels.experiment == args.experiment then
        local arm = arms[counter.labels.arm] or { exposed = 0, orders = 0, cents = 0 }
        arm[counter.name:match("[^.]+$")] = counter.value
        arms[counter.labels.arm] = arm
      end
    end
    return arms
  end,
}
