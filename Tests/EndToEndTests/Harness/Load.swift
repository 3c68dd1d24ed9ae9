import Glibc
import RuledCore
import Synchronization
import TestSupport
import Testing

/// A client with one connection that keeps a number of requests in flight and records which were answered.
///
/// Requests that were not answered when a connection broke are sent again, in the same order, with the same ids.
final class Load: Sendable {
  private struct Values {
    let all: [(id: String, line: [UInt8])]
    var unanswered: [(id: String, line: [UInt8])]
    var failed: Set<String> = []
    var answered = 0
    var errors: [String] = []
    var duplicates = 0
  }

  private let values: Mutex<Values>
  private let window: Int

  /// A load of complete lines with their ids, which are strings without escapes.
  init(_ requests: [(id: String, line: String)], window: Int = 512) {
    let all = requests.map { ($0.id, Array($0.line.utf8)) }
    values = Mutex(Values(all: all, unanswered: all))
    self.window = window
  }

  static func event(_ id: String, _ type: String, _ subject: String, _ data: String) -> (id: String, line: String) {
    let params = "{\"type\":\"\(type)\",\"subject\":\"\(subject)\",\"id\":\"\(id)\",\"data\":\(data)}"
    return (id, "{\"jsonrpc\":\"2.0\",\"id\":\"\(id)\",\"method\":\"event\",\"params\":\(params)}\n")
  }

  /// How many have been answered.
  var answered: Int { values.withLock { $0.answered } }

  /// The answers that are errors.
  var errors: [String] { values.withLock { $0.errors } }

  /// How many answers said that they repeat an earlier one.
  var duplicates: Int { values.withLock { $0.duplicates } }

  var isDone: Bool { values.withLock { $0.unanswered.isEmpty } }

  /// Treats requests that were answered with an error as unanswered.
  func resendFailed() {
    values.withLock { values in
      let open = values.failed.union(values.unanswered.map(\.id))
      values.answered -= values.failed.count
      values.unanswered = values.all.filter { open.contains($0.id) }
      values.failed = []
      values.errors = []
    }
  }

  /// Sends the unanswered requests and reads answers until all have arrived or the daemon is gone; calls `answer` for each.
  func run(_ socket: String, _ answer: (String) -> Void = { _ in }) {
    guard let client = try? Client(socket) else { return }
    let requests = values.withLock { $0.unanswered }
    var answeredIDs: Set<String> = []
    var next = 0
    var taken = 0
    reading: while taken < requests.count {
      if next < requests.count, next - taken <= window / 2 {
        var bytes: [UInt8] = []
        while next < requests.count, next - taken < window {
          bytes += requests[next].line
          next += 1
        }
        guard client.send(bytes) else { break }
      }
      repeat {
        guard let line = client.line() else { break reading }
        taken += 1
        if let id = Self.id(of: line) { answeredIDs.insert(id) }
        note(line)
        answer(line)
      } while next - taken > window / 2 || (next == requests.count && taken < next)
    }
    values.withLock { values in values.unanswered.removeAll { answeredIDs.contains($0.id) } }
  }

  private func note(_ line: String) {
    values.withLock { values in
      values.answered += 1
      if line.holds("\"error\":{") {
        values.errors.append(line)
        if let id = Self.id(of: line) { values.failed.insert(id) }
      }
      if line.holds("\"duplicate\":true") { values.duplicates += 1 }
    }
  }

  /// The id of a reply.
  private static func id(of line: String) -> String? {
    guard let start = line.place(of: "\"id\":\"") else { return nil }
    return String(decoding: line.utf8.dropFirst(start + 6).prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
  }
}

extension String {
  /// Whether the text contains some ASCII; fast in debug builds too.
  func holds(_ words: String) -> Bool { place(of: words) != nil }

  /// The offset of some ASCII in the text's UTF-8.
  func place(of words: String) -> Int? {
    withCString { text in strstr(text, words).map { UnsafePointer($0) - text } }
  }
}

/// Rules that record every event in each kind of data that a commit can have, and checks of the final data.
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

  let events: Int
  /// One client per connection; all events of a subject use the same one.
  let loads: [Load]

  /// A load of about `events` events.
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

  func run(_ daemon: RuledDaemon, _ answer: @escaping @Sendable (String) -> Void = { _ in }) {
    let (loads, socket) = (loads, daemon.socket)
    Threads.run(loads.count) { loads[$0].run(socket, answer) }
  }

  /// Expects that each event was applied once with all its effects; in order, unless some were refused and sent again.
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

  /// Messages are applied later than the events that sent them: waits for the expected number and checks that there are no more.
  private func awaitTens(_ client: Client, inOrder: Bool) throws {
    var states: [JSONValue] = []
    var sum: Int64 { states.reduce(0) { $0 + ($1["tens"]?.intValue ?? 0) } }
    let haveCome = try eventually {
      states = try (0..<Self.collectors).compactMap { collector in
        try client.reply("state", ["subject": .string("collector:\(collector)")])["result"]?["plugins"]?["tally"]
      }
      return sum >= events / 10
    }
    #expect(haveCome && sum == events / 10, "\(sum) of \(events / 10)")
    #expect(!inOrder || states.allSatisfy { $0["disorder"] == nil })
  }
}
