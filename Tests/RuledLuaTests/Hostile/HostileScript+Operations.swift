extension HostileScript {
  /// What leaves the host work to do behind the budget, or would have it run a rule's functions.
  static let operations: [HostileScript] =
    [
      #"once("k" .. i)"#, #"once("k" .. i, 60)"#, #"timer.set("t" .. i, 1, "x")"#, #"timer.set("t", i, "x")"#,
      #"timer.cancel("t" .. i)"#, #"timer.cancel("t")"#, "forget()", #"once("k") forget()"#, #"send("user:2", "x")"#,
      #"send("user:" .. i, "x")"#, #"raise("y")"#, #"count("n")"#, #"count("n", { i = i })"#, #"decide("k" .. i, i)"#,
      #"decide("k", i)"#, #"emit("client", "x")"#, #"emit("client", "x", {}, { key = "k" })"#, #"log.info("x")"#,
      #"timer.set("t", i, "x") timer.due("t")"#,
    ].map { HostileScript("40,000 times \($0)", [.value, .time], run: "for i = 1, 40000 do \($0) end") }
    + [
      HostileScript("timer.due without end", [.instructions, .time], run: #"while true do timer.due("t") end"#),
      HostileScript(
        "operations without end, swallowed", [.instructions, .time], run: #"while true do pcall(count, "n") end"#),
      HostileScript(
        "options that run", .value,
        run: #"emit("client", "x", {}, setmetatable({}, { __index = function() while true do end end }))"#),
      HostileScript(
        "options that raise", .value,
        run:
          #"pcall(emit, "client", "x", {}, setmetatable({}, { __index = error })) emit("client", "x", {}, setmetatable({}, {}))"#
      ),
      HostileScript(
        "labels that run", .value,
        run: #"count("n", setmetatable({}, { __index = error, __pairs = function() while true do end end }))"#),
      HostileScript(
        "a message of the log that runs", .done,
        run: #"log.info(setmetatable({}, { __tostring = function() while true do end end, __name = "x" }))"#),
      HostileScript(
        "a declaration that runs", .refused,
        load: #"rule "lazy" (setmetatable({ on = "x" }, { __index = function() while true do end end }))"#),
      HostileScript(
        "a declaration that lends its functions", .refused,
        load: #"rule "lazy" (setmetatable({ on = "x" }, { __index = { run = function() end } }))"#),
    ]
}
