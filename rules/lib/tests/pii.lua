-- Personal data as people write it, in any script, and texts that only resemble it.
local pii = require "pii"

local OPTIONS = {
  text_length = 100, members = 10, names = { "email", "phone" },
  phone_digits = { international = 7, grouped = 9, plain = 10, most = 15 }, card_digits = { least = 13, most = 19 },
}

local PERSONAL = {
  ["a number with no-break spaces"]         = "0170\u{A0}123\u{A0}4567",
  ["a number with narrow no-break spaces"]  = "+49\u{202F}170\u{202F}1234567",
  ["a number with no-break hyphens"]        = "555\u{2011}123\u{2011}4567",
  ["a number with a control character"]     = "01701\u{7F}234567",
  ["a number with tabs"]                    = "+49\t170\t1234567",
  ["a number on two lines"]                 = "+49 170\r\n1234567",
  ["a card with tabs"]                      = "4111\t1111\t1111\t1111",
  ["a number with dashes"]                  = "555\u{2013}123\u{2212}4567",
  ["a number with middle dots"]             = "555\u{B7}123\u{B7}4567",
  ["a number with an invisible space"]      = "01701\u{200B}234567",
  ["a number with marks of direction"]      = "\u{200F}0170 1234567\u{200E}",
  ["a number in full-width digits"]         = "\u{FF10}\u{FF11}\u{FF17}\u{FF10} 1234567",
  ["a number in Arabic-Indic digits"]       = "\u{660}\u{661}\u{667}\u{660} \u{661}234567",
  ["a number in Devanagari digits"]         = "+91 \u{96F}\u{96E}\u{96D}\u{96C}\u{96B}\u{96A}\u{969}\u{968}",
  ["a number with full-width signs"]        = "\u{FF0B}49\u{FF08}0\u{FF09}170\u{FF0F}1234567",
  ["an address with a full-width at"]       = "anna\u{FF20}example.com",
  ["an address with a small at"]            = "anna\u{FE6B}example.com",
  ["an address with an ideographic stop"]   = "anna@example\u{3002}com",
  ["an address in full-width letters"]      = "\u{FF41}\u{FF20}\u{FF42}\u{FF0E}\u{FF43}",
  ["a card with dots"]                      = "4111.1111.1111.1111",
  ["a card with slashes"]                   = "4111/1111/1111/1111",
  ["a card with middle dots"]               = "3782\u{B7}822463\u{B7}10005",
  ["a card in full-width digits"]           = "\u{FF14}111 1111 1111 1111",
  ["a card with no-break spaces"]           = "4111\u{A0}1111\u{A0}1111\u{A0}1111",
  ["IPv6 that ends in zeros"]               = "1:2:3:4:5:6:7::",
  ["IPv6 that begins with a zero"]          = "::2:3:4:5:6:7:8",
  ["IPv6 before a colon"]                   = "2001:db8::1: unreachable",
  ["IPv6 after a label"]                    = "addr:2001:db8::1",
  ["IPv6 with full-width colons"]           = "2001\u{FF1A}db8\u{FF1A}\u{FF1A}1",
  ["IPv6 in capitals"]                      = "FE80::ABCD%eth0",
  ["IPv6 of an IPv4 address"]               = "::ffff:10.0.0.1",
  ["IPv6 of an IPv4 address, in hexadecimal"] = "::ffff:c000:201",
  ["a number in keycaps"]                   = ("0170 1234567"):gsub("%d", "%0\u{FE0F}\u{20E3}"),
  ["IPv4 in full-width digits"]             = "\u{FF11}\u{FF10}.0.0.1",
  ["IPv4 with one-dot leaders"]             = "10\u{2024}0\u{2024}0\u{2024}1",
  ["IPv4 after a word"]                     = "connection to 18.1.1.2 refused",
  ["IPv4 after a version"]                  = "iOS 18.1.1.2 could not reach 10.0.0.1",
}

test "personal data is found in whatever script it is written" (function(t)
  t:each(PERSONAL, function(written) t:equal(pii.in_string(OPTIONS, written), true) end)
end)

test "the groups of phones and cards may be parted by any sign" (function(t)
  for sign in ("_,:'~*|"):gmatch "." do
    for _, written in ipairs {
      "0170 123 4567", "0170 1234567", "+49 170 1234567", "0049 170 1234567", "555 123 4567", "call +1 555 123 4567!",
      "4111 1111 1111 1111", "3782 822463 10005", "2223 0031 2200 3222",
    } do
      local parted = written:gsub("(%d) (%d)", "%1" .. sign .. "%2"):gsub("(%d) (%d)", "%1" .. sign .. "%2")
      t:equal({ parted, pii.in_string(OPTIONS, parted) }, { parted, true })
    end
  end
end)

test "a phone number in a campaign's parameter is one that is written as one" (function(t)
  t:each({
    "+491701234567", "+49 170 1234567", "(+49) 170-1234567", "0049 170 1234567", "00491701234567", "01701234567",
    "(555) 123-4567", "555-123-4567", "555.123.4567", "030/1234567", "+49+170+1234567", "call-0170-1234567",
    "call_0170-1234567-berlin", "call-555-123-4567", "tel:(555)1234567", "0170-1234567_berlin", "%2B49170%201234567",
    "call 0170 1234567", "call+0170+1234567", "spring_2025_0170-1234567", "120210000000001234 +491701234567",
    "\u{FF0B}49\u{A0}170\u{2011}1234567", "\u{660}\u{661}\u{667}\u{660} \u{661}234567", "+15551234567",
    "01.23.45.67.89",
  }, function(written) t:equal(pii.in_link(written), true) end)
  t:each({
    "120210000000001234", "23851234567890123", "6042147342661", "20512345678", "1234567890", "20512345678-1",
    "6042147342661_2", "20512345678-150123456789", "id_120210000000001234", "spring+6042147342661",
    "spring-2025", "2025-11-10_spring", "20251110-1200", "20251110-20251201", "spring+20251110", "10.11.2025 12:00",
    "10.11.2025-30.11.2025", "sale 500 2025", "300x250", "1080-1920", "spring-2025-300-250", "iphone 15 pro", "v1.2.3",
    "0123456", "PAZXh0bgNhZW0BMAABpl-0123_x", "err0123456789", "24-7", "50%", "%C3%A4", "",
    "02409484-704e-4636-900e-44d756b2fc0f",
  }, function(written) t:equal(pii.in_link(written), false) end)
end)

test "versions, times and words are no personal data" (function(t)
  t:each({
    "iOS 18.1.1.2", "iPadOS/17.0.0.1", "Android 14.0.0.10", "v1.2.3.4", "version: 1.2.3.4", "Build-10.0.0.1",
    "10.11.2025 12.34.56.789", "10.11.2025 12.34.56.785", "1.2.3", "12:34:56", "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9", "1::2::3", "::", "Surface::add", "Array::push", "\u{661}\u{662}:\u{663}\u{664}",
    "timed out after 8.061854646744074 s", "progress 42.40141880", "load 0.144505486", "took 130.144505486 ms",
    "ratio 3.14159265", "42.4111111111111111", "a::b", "\u{FF34}imeout after 30000\u{A0}ms",
    "+1,234,567 bytes", "+1_000_000", "1,234,567,890", "12'345'678", "08:15:30,123", "08:15:30.1234", "001,002,003",
    "2025:11:10 08:15:30", "2019,2020,2021,2022,2023,2024,2025", "0001_0002_0003", "1920*1080|16:9", "1|2|3|4444|5555",
    "4111_1111_1111_1112", "10:30:1500", "retry 2\u{2013}3", "user\u{FF20}localhost", "50\u{A0}% of 100\u{A0}%",
  }, function(written) t:equal(pii.in_string(OPTIONS, written), false) end)
end)

test "a name of personal data is found in whatever letters" (function(t)
  for _, name in ipairs { "email", "userEmail", "\u{FF25}mail", "phone\u{2011}number", "PHONES" } do
    t:equal(pii.in_name(OPTIONS, name), true, name)
  end
  t:equal(pii.in_name(OPTIONS, "earphone_model"), false)
end)
