import RuledCore
import Testing

/// Rules that leave a trace of every event in all that a commit can hold, and what must be left in the end.
struct Tally {
  /// How many events each subject gets.
  static let perSubject = 100
  /// How many subjects messages go to.
  static let collectors = 20

  /// Rules by path.
  static let rules = [
    "tally/plugin.lua": """
    plugin { name = "tally", version = "1", sinks = { "ledger" } }

    rule "hit" {
      on = "hit",
      run = function(event, state)
        local n = event.data.n
        state.count = (state.count or 0) + 1
        state.sum = (state.sum or 0) + n
        if n ~= (state.last or 0) + 1 then state.disorder = (state.disorder or 0) + 1 end
        state.last = n
        count("tally.hits")
        if once("seven:" .. (n - 1) // 7) then state.sevens = (state.sevens or 0) + 1 end
        if n % 10 == 0 then
          emit("ledger", "ten", { n = n })
          send(event.data.to, "ten", { from = event.subject, n = n })
        end
        decide("count", state.count)
      end,
    }

    rule "ten" {
      on = "ten",
      run = function(event, state)
        local from = event.data.from
        state.tens = (state.tens or 0) + 1
        state.last = state.last or {}
        if event.data.n ~= (state.last[from] or 0) + 10 then state.disorder = (state.disorder or 0) + 1 end
        state.last[from] = event.data.n
        count("tally.tens")
      end,
    }
    """
  ]

  /// How many events.
  let events: Int
  /// One client for each connection; a subject's events all go over the same.
  let loads: [Load]

  /// A load of about that many events.
  init(events: Int, connections: Int) {
    let subjects = events / Self.perSubject / connections
    self.events = subjects * Self.perSubject * connections
    loads = (0..<connections).map { connection in
      var requests: [(id: String, line: String)] = []
      for n in 1...Self.perSubject {
        for subject in 0..<subjects {
          let name = "hitter:\(connection)-\(subject)"
          let to = "collector:\((connection * subjects + subject) % Self.collectors)"
          requests.append(Load.event("\(connection).\(subject).\(n)", "hit", name, "{\"n\":\(n),\"to\":\"\(to)\"}"))
        }
      }
      return Load(requests)
    }
  }

  /// How many have been answered.
  var answered: Int { loads.reduce(0) { $0 + $1.answered } }

  /// Sends all that is not answered.
  func run(_ daemon: RuledDaemon, _ answer: @escaping @Sendable (String) -> Void = { _ in }) {
    let (loads, socket) = (loads, daemon.socket)
    Threads.run(loads.count) { loads[$0].run(socket, answer) }
  }

  /// Expects that each event was applied once, with all that came of it; in order, unless some were refused and sent again.
  func expectApplied(_ daemon: RuledDaemon, inOrder: Bool = true) throws {
    let client = try daemon.client()
    for load in loads {
      #expect(load.isDone)
      #expect(load.errors.isEmpty, "\(load.errors.first ?? "")")
    }
    let tens = Self.perSubject / 10
    let expected: JSONObject = [
      "count": .integer(Int64(Self.perSubject)), "sum": .integer(Int64(Self.perSubject * (Self.perSubject + 1) / 2)),
      "last": .integer(Int64(Self.perSubject)), "sevens": .integer(Int64((Self.perSubject + 6) / 7)),
    ]
    let subjects = events / Self.perSubject / loads.count
    var wrong: [String] = []
    for connection in loads.indices {
      for subject in 0..<subjects {
        let name = JSONValue.string("hitter:\(connection)-\(subject)")
        let state = try client.call("state", ["subject": name])
        let held = state["plugins"]?["tally"]
        var right = expected.allSatisfy { held?[$0.name] == $0.value || !inOrder && $0.name == "last" }
        right = right && (!inOrder || held?["disorder"] == nil) && state["version"] == .integer(Int64(Self.perSubject))
        if subject % 10 == 0 {
          let effects = try client.call("export", ["subject": name])["effects"]?.arrayValue ?? []
          right = right && effects.count == tens && Set(effects.compactMap { $0["data"]?["n"]?.intValue }).count == tens
        }
        if !right { wrong.append(state.text) }
      }
    }
    #expect(wrong.isEmpty, "\(wrong.count) subjects, such as \(wrong.first?.prefix(2000) ?? "")")
    try awaitTens(client, inOrder: inOrder)
    #expect(try client.call("counters", ["prefix": "tally.hits"])[0]?["value"] == .integer(Int64(events)))
    #expect(try client.call("counters", ["prefix": "tally.tens"])[0]?["value"] == .integer(Int64(events / 10)))
  }

  /// Messages are applied a little later than the events that sent them: waits for as many as there must be, and looks for more.
  private func awaitTens(_ client: Client, inOrder: Bool) throws {
    var sum: Int64 = 0
    for _ in 0..<600 {
      sum = 0
      for collector in 0..<Self.collectors {
        let reply = try client.reply("state", ["subject": .string("collector:\(collector)")])
        guard let state = reply["result"]?["plugins"]?["tally"] else { continue }
        sum += state["tens"]?.intValue ?? 0
        #expect(!inOrder || state["disorder"] == nil)
      }
      if sum >= events / 10 { break }
      _ = try client.event("none", "pause:1", with: ["wait": "cascade"])
    }
    #expect(sum == events / 10)
  }
}
