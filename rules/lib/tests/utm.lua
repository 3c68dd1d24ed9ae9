-- Links as they may leave.

local utm = require "utm"

test "a link leaves without addresses and phone numbers, whether it names a site or not" (function(t)
  local told = {
    ["app://ada@books/reader/ada@example.org/7"] = "app://books/reader/7", ["/reader/ada@example.org/"] = "/reader/",
    ["/+49 170 1234567?a=1"] = "?a=1", ["mailto:ada@example.org"] = "", ["/reader//7#top"] = "/reader//7#top",
  }
  for link, left in pairs(told) do t:equal(utm.told_link(link), left) end
end)
