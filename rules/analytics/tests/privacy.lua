-- Personal data, in strings that are permitted, in properties that are not, and in the names of both.

local own = require "own"

local function opted_in(t)
  t:event("device:p", "settings.analytics_toggled", { enabled = true })
  t:event("device:p", "session.started", {})
end

local function refusing(t)
  t:settings { unknown_properties = "refuse" }
  opted_in(t)
end

local function kinds(t, message)
  local failed = { error_code = "timeout", error_message = message, retry_attempt = 1 }
  local outcome = t:event("device:p", "screenshot_upload_failed", failed)
  local violation = (outcome.decisions.violations or {})[1]
  if violation then
    t:equal(violation.path, "error_message")
    t:equal(json.encode(outcome.effects):find(message, 1, true), nil)
  end
  return violation and violation.kind
end

test "personal data is found anywhere in a permitted string" (function(t)
  opted_in(t)
  for _, message in ipairs {
    "anna@example.com", "mail to Anna.B+x@mail.example.co.uk failed", "jörg@exämple.de", "anna%40example.com",
    "<anna@example.com>", "+49 170 1234567", "call +1 (555) 010-4477 now", "(555) 123-4567", "555-123-4567",
    "555.123.4567", "555 0199 88", "555-0199", "030 12345678", "0151/2345678", "00491701234567", "15551234567",
    "id+4917012345678", "tel:0301234567", "Tel.030 1234567", "192.168.0.17", "from 10.0.0.1:8080 refused",
    "2001:db8:0:0:0:0:0:1", "[2001:db8::1] unreachable", "::1", "4111 1111 1111 1111", "4111-1111-1111-1111",
    "5551234567", "030123456", "+1234567", "123456789012345", "6304 0000 0000 0000 000", "6799990100000000019",
    "x_4222222222222", "card_4111111111111111", "4111 1111 1111 1111 12/27", "378282246310005", "5555555555554444",
    "10.0.0.255", ("x"):rep(101), ("ä"):rep(101),
  } do
    if kinds(t, message) ~= "pii" then t:equal(message, "found") end
  end
end)

test "text that only resembles personal data is accepted" (function(t)
  opted_in(t)
  for _, message in ipairs {
    "", "timeout after 30000 ms", "HTTP 500", "status 404, retry 2 of 3", "version 2.0.1", "2025-11-10T12:34:56.789Z",
    "2025-11-10 12:34:56 no route", "12:34:56", "@home", "a @ b", "user@localhost", "1.2.3", "300.1.1.1",
    "256.1.1.1", "1.2.3.0004", "1.2.3.4.5", "x5551234567", "5551234567x", "5551234567_x", "Array::push",
    "err_01234567890", "build-20251110-120000", "550e8400-e29b-41d4-a716-446655440000",
    "12345678-1234-4123-8123-123456789012", "4111 1111 1111 1112 0000", "size 12345678 bytes", "50% of 100%",
    "41111111-1111-1111-8000-abcdefabcdef",
    "abcdef12-ab12-4abc-b378-282246310005", "123456789", "+123456", "1234567890123456", "123 456 78",
    "deadline exceeded (code 17)", ("x"):rep(100), ("ä"):rep(100), "cafe:babe", "::",
  } do
    t:equal(kinds(t, message), nil, message)
  end
end)

test "a property with the name of personal data is refused, whatever its value" (function(t)
  refusing(t)
  for _, name in ipairs { "email", "user_name", "firstName", "phone_number", "home_address", "Email", "ip",
    "date-of-birth", "emailAddress", "phones", "city_of_birth" } do
    local outcome = t:event("device:p", "app_opened", { launch_type = "cold_start", [name] = 1 })
    t:equal(outcome.decisions.violations, { { path = name, kind = "pii" } })
  end
  for _, name in ipairs { "renamed", "page", "flirt_content", "points", "filename", "ageing", "iphone_model" } do
    local outcome = t:event("device:p", "app_opened", { launch_type = "cold_start", [name] = 1 })
    t:equal(outcome.decisions.violations, { { path = name, kind = "unknown_property" } })
  end
end)

test "personal data is found in unknown and in nested properties" (function(t)
  refusing(t)
  for value, kind in pairs { ["anna@example.com"] = "pii", plain = "unknown_property" } do
    local outcome = t:event("device:p", "app_opened", { launch_type = "cold_start", note = value })
    t:equal(outcome.decisions.violations, { { path = "note", kind = kind } })
    local nested = t:event("device:p", "app_opened", { launch_type = { deep = { value } } })
    t:equal(nested.decisions.violations[1].kind, kind == "pii" and "pii" or "type")
  end
  local keyed = t:event("device:p", "app_opened", { launch_type = { ["anna@example.com"] = 1 } })
  t:equal(keyed.decisions.violations, { { path = "launch_type", kind = "pii" } })
  local named = t:event("device:p", "app_opened", { launch_type = { email = 1 } })
  t:equal(named.decisions.violations, { { path = "launch_type", kind = "pii" } })
end)

test "a property name that is personal data is reported as the event only" (function(t)
  refusing(t)
  for name, kind in pairs { ["anna@example.com"] = "pii", ["she lives next door"] = "unknown_property",
    ["0170-1234567"] = "pii", [("k"):rep(101)] = "pii", ["anna.schmidt"] = "unknown_property",
    user_4711 = "unknown_property", ["550e8400-e29b-41d4-a716-446655440000"] = "unknown_property",
    ["1990-05-17"] = "unknown_property", ["Jürgen"] = "unknown_property" } do
    local outcome = t:event("device:p", "app_opened", { launch_type = "cold_start", [name] = true })
    t:equal(outcome.decisions.violations, { { path = "", kind = kind } })
    t:equal(json.encode(outcome.effects):find(name, 1, true), nil)
  end
end)

test "a name is reported up to the longest that the plan allows, and all violations in order" (function(t)
  refusing(t)
  for length, path in pairs { [40] = ("k"):rep(40), [41] = "" } do
    local outcome = t:event("device:p", "app_opened", { launch_type = "cold_start", [("k"):rep(length)] = 1 })
    t:equal(outcome.decisions.violations, { { path = path, kind = "unknown_property" } })
  end
  local both = {
    launch_type = "cold_start", ["she lives next door"] = 1, ["anna@example.com"] = 1, ["0170-1234567"] = 1,
  }
  t:equal(t:event("device:p", "app_opened", both).decisions.violations,
    { { path = "", kind = "pii" }, { path = "", kind = "pii" }, { path = "", kind = "unknown_property" } })
end)

test "properties that the plan does not have are dropped, and the rest is sent and counted" (function(t)
  opted_in(t)
  local failed = { error_code = "timeout", error_message = "no answer", retry_attempt = 1, host = "a", tries = { 1 } }
  local outcome = t:event("device:p", "screenshot_upload_failed", failed)
  t:equal(outcome.decisions, { accepted = true })
  t:equal({ own(outcome)[1].sink, own(outcome)[1].data.host, own(outcome)[1].data.tries }, { "analytics" })
  t:equal(own(outcome)[2].sink, "rejected")
  t:equal(own(outcome)[2].data, { event = "screenshot_upload_failed", violations = {
    { path = "host", kind = "unknown_property" }, { path = "tries", kind = "unknown_property" },
  } })
  t:equal(t:query(nil, "kpis").range.uploads.success_pct, 0.0)
  t:settings { unknown_properties = "refuse" }
  t:equal(t:event("device:p", "screenshot_upload_failed", failed).decisions.reason, "invalid")
end)

test "personal data in a property that the plan does not have refuses the report" (function(t)
  opted_in(t)
  local cases = {
    { "email", "withheld", { { path = "email", kind = "pii" } } },
    { "note", "call +49 170 1234567", { { path = "note", kind = "pii" } } },
    { "extra", 1, {}, launch_type = "warm" },
  }
  for _, case in ipairs(cases) do
    local data = { launch_type = case.launch_type or "cold_start", [case[1]] = case[2] }
    local outcome = t:event("device:p", "app_opened", data)
    if case.launch_type then
      case[3] = { { path = "extra", kind = "unknown_property" }, { path = "launch_type", kind = "value" } }
    end
    t:equal(outcome.decisions, { accepted = false, reason = "invalid", violations = case[3] })
    t:equal({ #own(outcome), own(outcome)[1].sink }, { 1, "rejected" })
  end
end)

test "a long text in a property that the plan does not have is dropped like others" (function(t)
  opted_in(t)
  local failed = { error_code = "timeout", error_message = "no answer", retry_attempt = 1 }
  local function tracked(text)
    failed.stack_trace = text
    return t:event("device:p", "screenshot_upload_failed", failed)
  end
  local line = "0x0000000104a3b2c8 upload() + 5551234\n"
  for _, text in ipairs { ("f"):rep(150), line:rep(20), ("ä"):rep(999), ("("):rep(99999) } do
    local outcome = tracked(text)
    t:equal({ outcome.decisions, #own(outcome), outcome.failures }, { { accepted = true }, 2, {} })
    t:equal(own(outcome)[1].data.stack_trace, nil)
    t:equal(own(outcome)[2].data.violations, { { path = "stack_trace", kind = "unknown_property" } })
  end
  for _, address in ipairs { "anna@example.com", "10.0.0.1", "+49 170 1234567" } do
    local outcome = tracked(line:rep(20) .. address)
    t:equal(outcome.decisions.violations, { { path = "stack_trace", kind = "pii" } })
  end
  t:equal(t:query(nil, "kpis").range.uploads.success_pct, 0.0)
end)

test "digits are a session, a phone number elsewhere" (function(t)
  opted_in(t)
  for _, id in ipairs { "1", "20251110120000", "4111111111111111", "491701234567" } do
    local outcome = t:event("device:p", "settings_data_exported", { export_format = "json", session_id = id })
    t:equal({ outcome.decisions, own(outcome)[1].data.session_id }, { { accepted = true }, id })
  end
  for _, id in ipairs { "192.168.0.17", "0170-1234567" } do
    local outcome = t:event("device:p", "settings_data_exported", { export_format = "json", session_id = id })
    t:equal(outcome.decisions.violations, { { path = "session_id", kind = "pii" } })
  end
end)

test "a rejected effect carries paths and kinds, never the values" (function(t)
  opted_in(t)
  local outcome = t:event("device:p", "error_displayed",
    { error_type = true, error_code = "x@secret-2.example", screen = 3, extra = "secret-4" })
  t:equal(#own(outcome), 1)
  t:equal(own(outcome)[1].sink, "rejected")
  t:equal(own(outcome)[1].data, { event = "error_displayed", violations = {
    { path = "error_code", kind = "pii" }, { path = "error_type", kind = "type" },
    { path = "extra", kind = "unknown_property" }, { path = "screen", kind = "type" },
  } })
end)

test "an event with many texts of digits, or of letters that fold to phrases, is not stopped" (function(t)
  opted_in(t)
  for _, piece in ipairs { "1 ", "4 ", "\u{FDFA}", "\u{2479}", "1." } do
    local data = { error_code = "x", error_message = "m", retry_attempt = 1 }
    for n = 1, 300 do data["e" .. n] = piece:rep(150) end
    t:equal(t:event("device:p", "screenshot_upload_failed", data).failures, {})
  end
end)

test "of large data only a part is looked at, and it is refused" (function(t)
  refusing(t)
  local object, list = {}, {}
  for i = 1, 3000 do
    object["member" .. i] = "some text, 1.2.3"
    list[i] = "some text, 1.2.3"
  end
  local function violations(data)
    local outcome = t:event("device:p", "app_opened", data)
    t:equal(outcome.failures, {})
    t:equal(outcome.decisions.accepted, false)
    return outcome.decisions.violations
  end
  t:equal(violations({ launch_type = object }), { { path = "launch_type", kind = "type" } })
  t:equal(violations({ launch_type = { list, list } }), { { path = "launch_type", kind = "type" } })
  t:equal(violations({ launch_type = "cold_start", more = object }), { { path = "more", kind = "unknown_property" } })
  t:equal(violations(list), { { path = "", kind = "type" } })
  t:equal(#violations(object), settings.violations_listed)
end)
