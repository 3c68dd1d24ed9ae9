-- Which strings are e-mail addresses, and the form in which an address may leave the daemon: hashed, never plain.

local fields = require "fields"

local email_address = {}

local LONGEST = 254 -- bytes, RFC 5321
local LONGEST_TEXT = 1024 -- bytes, with white space around the address

local WIDE_SPACES = {
  "\u{85}", "\u{A0}", "\u{1680}", "\u{2000}", "\u{2001}", "\u{2002}", "\u{2003}", "\u{2004}", "\u{2005}", "\u{2006}",
  "\u{2007}", "\u{2008}", "\u{2009}", "\u{200A}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}", "\u{3000}",
}

local function has_space(s)
  if s:find("[%s%c]") then return true end
  for _, space in ipairs(WIDE_SPACES) do
    if s:find(space, 1, true) then return true end
  end
  return false
end

--- The address without white space around it; nil if it is none. An address has one `@`, something before it, a dot
--- within the domain, no white space, and 254 bytes at most.
function email_address.read(s)
  if not fields.text(s, LONGEST_TEXT) then return nil end
  local address = text.trim(s)
  if #address > LONGEST or has_space(address) then return nil end
  local domain = address:match("^[^@]+@([^@]+)$")
  if not domain or not domain:find("^[^.].*%.") or domain:sub(-1) == "." then return nil end
  return address
end

--- SHA-256 of an address in Unicode lower case, as Meta wants it.
function email_address.hashed(address)
  return hash.sha256(text.lower(address))
end

return email_address
