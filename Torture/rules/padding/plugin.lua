-- Makes some commits large, so that files of the log fill up, and shows whether a state was torn: it is one letter,
-- so many times.
plugin { name = "padding", version = "1" }

rule "pad" {
  on = "hit",
  when = function(event) return event.data.pad ~= nil end,
  run = function(event, state)
    state.n = event.data.n
    state.text = string.rep(string.char(97 + event.data.n % 26), event.data.pad)
  end,
}
