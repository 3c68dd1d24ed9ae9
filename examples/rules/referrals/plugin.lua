-- Referrals: who brings a friend is paid once the friend has bought something and can't give it back any more.
--
-- A client tells only of its own user. A message from one user's rules to another's is an internal event, which no
-- client can send, and its sender is who the daemon says it is: so a pair is paid once, and nobody is paid for
-- themselves.

plugin {
  name     = "referrals",
  version  = "1.0.0",
  about    = "Pays for friends who buy.",
  settings = { reward_cents = 500, return_days = 14, zone = "Europe/Berlin" },
  sinks    = { "wallet", "push" },
}

event("user.signed_up", { referrer = "string?: the subject whose link it was" }, { about = "An account was opened." })
event("order.paid", { order = "string", cents = "integer" }, { about = "Somebody bought something." })
event("order.returned", { order = "string" }, { about = "The order was given back." })
event "referral.joined" { from = "rules" }
event "referral.kept" { from = "rules", order = "string" }
event "referral.converted" { from = "rules" }

state {
  version = 1,
  referrer = "string?",   -- who brought this user
  order = "string?",      -- the first order, while it may be given back
  friends = "integer?",   -- how many signed up
  paid = "integer?",      -- for how many of them this user was paid
}

rule "signed up" {
  on   = "user.signed_up",
  when = function(event) return event.data.referrer ~= event.subject end,
  run  = function(event, state)
    -- The first sign-up counts: who is here already is nobody's friend to bring.
    if not once("signed up") or (event.data.referrer or "") == "" then return end
    state.referrer = event.data.referrer
    send(state.referrer, "referral.joined")
  end,
}

rule "joined" {
  on  = "referral.joined",
  run = function(event, state)
    state.friends = (state.friends or 0) + 1
    emit("push", "friend_joined", { friend = event.sender })
  end,
}

rule "paid" {
  on   = "order.paid",
  when = function(event, state) return state.referrer and not state.order and event.data.cents > 0 end,
  run  = function(event, state)
    state.order = event.data.order
    timer.set("kept", calendar.add(now(), { days = settings.return_days }, settings.zone), "referral.kept",
      { order = state.order })
  end,
}

rule "returned" {
  on   = "order.returned",
  when = function(event, state) return event.data.order == state.order end,
  run  = function(_, state)
    timer.cancel("kept")
    state.order = nil
  end,
}

rule "kept" {
  on  = "referral.kept",
  run = function(_, state)
    send(state.referrer, "referral.converted")
    state.referrer, state.order = nil, nil
  end,
}

rule "converted" {
  on  = "referral.converted",
  run = function(event, state)
    local month = calendar.month(now(), settings.zone)
    if not once("friend " .. event.sender) then return end
    board.add(month, 1, { keep = "400d" })
    count("referrals.converted", { month = month }, 1, { keep = "400d" })
    state.paid = (state.paid or 0) + 1
    emit("wallet", "credit", { cents = settings.reward_cents, friend = event.sender }, { key = event.sender })
  end,
}

query "friends" (function(state)
  return { joined = state and state.friends or 0, paid = state and state.paid or 0 }
end)

query "leaders" {
  about = "Who brought the most friends in a month.",
  args  = { month = "string: YYYY-MM", who = "string?: whose rank is wanted" },
  run   = function(_, args)
    return { top = board.top(args.month, 10), rank = args.who and board.rank(args.month, args.who) }
  end,
}
