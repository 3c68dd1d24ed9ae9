-- Hours of the day in a time zone, such as quiet hours and the hours in which to send.

local options = require "options"

local hours = {}

--- Whether `at` is within `span`, `{ from = "22:00", to = "08:00", zone = "Europe/Berlin" }`, and when that changes.
function hours.within(span, at)
  options.need("hours", "from", span.from, options.text)
  options.need("hours", "to", span.to, options.text)
  options.need("hours", "zone", span.zone, options.zone)
  local zone = span.zone
  local day, over_night = calendar.day(at, zone), span.to < span.from
  local from, to = calendar.at(day, span.from, zone), calendar.at(day, span.to, zone)
  -- The clocks are put forward: hours that do not exist are empty.
  if over_night then from = math.max(from, to) else to = math.max(from, to) end
  local first, second = math.min(from, to), math.max(from, to)
  if at < first then return over_night, first end
  if at < second then return not over_night, second end
  return over_night, calendar.at(day + 1, over_night and span.to or span.from, zone)
end

--- The first moment from `at` on that is outside `span`; `at` itself without a span.
function hours.after(span, at)
  if not span then return at end
  local inside, change = hours.within(span, at)
  return inside and change or at
end

return hours
