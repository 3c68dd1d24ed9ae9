-- Makes some commits large, so that segments of the log fill up, and detects a torn state: it is one repeated letter.
plugin { name = "padding", version = "1" }

rule "pad" {
  on = "hit",
  when = function(event) return event.data.pad ~= nil end,
  run = function(event, state)
    state.n = event.data.n
    state.text = string.rep(string.char(97 + event.data.n % 26), event.data.pad)
  end,
}
