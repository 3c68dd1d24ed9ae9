plugin { name = "topics", version = "1.0.0", about = "Members that are told by messages, and by publications." }

rule "each" {
  on  = "each",
  run = function(event)
    for n = event.data.from, event.data.to do send("member:" .. n, event.data.type, { n = event.data.n }) end
  end,
}

rule "join" { on = "join", run = function() topic.join("all") end }

rule "publish" { on = "publish", run = function(event) publish("all", "told", { n = event.data.n }) end }

rule "told" {
  on  = "told",
  run = function(event, state)
    state.n = event.data.n
    count("topics.told")
  end,
}

query "members" (function() return topic.count("all") end)
