local own = require "own"

local INVOICE = { amount = 10000, due = "2025-12-01", customer = "user:ada" }

-- The types, the amounts and the times of all mails and claims.
local function sent(t)
  local list = array {}
  for _, effect in ipairs(own(t:effects("invoice:7"))) do
    list[#list + 1] = effect.type .. " " .. effect.data.amount .. " " .. effect.at
  end
  return list
end

test "an unpaid invoice is asked for on working days, with fees, and then handed on" (function(t)
  t:settings { holidays = { "2025-12-15", "2025-12-29" } }
  t:at("2025-11-20T10:00:00Z")
  t:equal(t:event("invoice:7", "invoice.issued", INVOICE).decisions.invoice, "open")
  t:advance("10w")
  t:equal(sent(t), {
    "reminder 10000 2025-12-08T08:00:00.000Z", "reminder 10500 2025-12-16T08:00:00.000Z",
    "reminder 11500 2025-12-30T08:00:00.000Z", "claim 11500 2026-01-05T08:00:00.000Z",
  })
  t:equal(t:query("invoice:7", "invoice"), { open = 0, step = 4, disputed = false })
  local labels = { how = "collection", step = "4", month = "2026-01" }
  t:equal(own(t:counters()), { { name = "dunning.ended", labels = labels, value = 1 } })
end)

test "a weekend is waited out" (function(t)
  t:at("2025-11-20T10:00:00Z")
  t:event("invoice:7", "invoice.issued", { amount = 100, due = "2025-11-29", customer = "user:ada" })
  t:at("2025-12-08T07:59:59Z")
  t:equal(sent(t), {})
  t:advance("1s")
  t:equal(#sent(t), 1)
end)

test "a payment of all ends it, a part lowers what is asked for, and none counts twice" (function(t)
  t:at("2025-11-20T10:00:00Z")
  t:event("invoice:7", "invoice.issued", INVOICE)
  t:event("invoice:7", "invoice.paid", { payment = "p1", amount = 4000 })
  t:event("invoice:7", "invoice.paid", { payment = "p1", amount = 4000 }, { id = "again" })
  t:equal(t:query("invoice:7", "invoice").open, 6000)
  t:advance("3w")
  t:equal(sent(t), { "reminder 6000 2025-12-08T08:00:00.000Z" })
  t:equal(t:event("invoice:7", "invoice.paid", { payment = "p2", amount = 7000 }).decisions.invoice, "paid")
  t:advance("10w")
  t:equal(#sent(t), 1)
  t:equal(t:event("invoice:7", "invoice.paid", { payment = "p3", amount = 1 }).decisions, {})
end)

test "a dispute stops the clock until it is settled" (function(t)
  t:at("2025-11-20T10:00:00Z")
  t:event("invoice:7", "invoice.issued", INVOICE)
  t:equal(t:event("invoice:7", "invoice.disputed").decisions.invoice, "disputed")
  t:advance("10w")
  t:equal(sent(t), {})
  t:equal(t:event("invoice:7", "invoice.settled", { amount = 9000 }).decisions.invoice, "open")
  t:advance("2w")
  t:equal(sent(t), { "reminder 9000 2026-02-12T08:00:00.000Z" })
  t:event("invoice:7", "invoice.disputed")
  t:equal(t:event("invoice:7", "invoice.settled", { amount = 0 }).decisions.invoice, "cancelled")
end)

test "a payment of all ends a dispute, too" (function(t)
  t:event("invoice:7", "invoice.issued", INVOICE)
  t:event("invoice:7", "invoice.disputed")
  t:event("invoice:7", "invoice.paid", { payment = "p1", amount = 10000 })
  t:equal(t:query("invoice:7", "invoice"), { open = 0, step = 0, disputed = false })
  t:equal(t:event("invoice:7", "invoice.settled", { amount = 10000 }).decisions, {})
end)

test "what makes no sense is refused, and an invoice is issued once" (function(t)
  local function issue(amount, due)
    return t:event("invoice:8", "invoice.issued", { amount = amount, due = due, customer = "user:ada" }).decisions
  end
  t:equal(issue(1, "soon").error, "due")
  t:equal(issue(0, "2025-12-01"), {})
  t:equal(t:event("invoice:8", "invoice.settled", { amount = 5 }).decisions, {})
  t:event("invoice:7", "invoice.issued", INVOICE)
  t:equal(t:event("invoice:7", "invoice.issued", INVOICE).decisions, {})
end)

test "nothing is heard of an invoice that is not open" (function(t)
  local function all(invoice)
    local found = {}
    for type, data in pairs {
      ["invoice.paid"] = { payment = "p1", amount = 1 }, ["invoice.disputed"] = {}, ["invoice.overdue"] = { step = 1 },
    } do
      found[#found + 1] = next(t:event(invoice, type, data, { internal = true }).decisions)
    end
    return found
  end
  t:equal(all("invoice:none"), {})
  t:event("invoice:7", "invoice.issued", INVOICE)
  t:event("invoice:7", "invoice.paid", { payment = "p0", amount = 10000 })
  t:equal(all("invoice:7"), {})
  for _, invoice in ipairs { "invoice:none", "invoice:7" } do
    t:equal(t:query(invoice, "invoice"), { open = 0, step = 0, disputed = false })
  end
  t:equal(t:query(nil, "invoice"), { open = 0, step = 0, disputed = false })
end)

test "a cent is asked for, disputed and paid, and no cent is no payment" (function(t)
  t:at("2025-11-20T10:00:00Z")
  t:settings { fees = { 0, 0, 0 } }
  t:event("invoice:7", "invoice.issued", { amount = 1, due = "2025-12-01", customer = "user:ada" })
  t:equal(t:event("invoice:7", "invoice.overdue", { step = 2 }, { internal = true }).decisions, {})
  t:advance("3w")
  t:equal(sent(t), { "reminder 1 2025-12-08T08:00:00.000Z" })
  t:equal(t:event("invoice:7", "invoice.disputed").decisions.invoice, "disputed")
  t:equal(t:query("invoice:7", "invoice"), { open = 1, step = 1, disputed = true })
  t:equal(t:event("invoice:7", "invoice.paid", { payment = "p1", amount = 0 }).decisions, {})
  t:equal(t:event("invoice:7", "invoice.paid", { payment = "p2", amount = 1 }).decisions.invoice, "paid")
end)
