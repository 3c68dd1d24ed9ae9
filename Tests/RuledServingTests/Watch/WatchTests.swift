import IOTestSupport
import RuledCore
import RuledJSON
import RuledStore
import Testing

@testable import RuledServing

@Suite struct WatchTests {
  private static func request(_ id: Int, _ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"# + "\n"
  }

  private static func lines(_ client: Client, _ count: Int) -> [JSONValue] {
    client.receive(lines: count).split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
  }

  private static func apply(_ events: Int, to subjects: Int, on rig: ServerRig) {
    let client = rig.client()
    client.send((0..<events).map { request($0, "event", #"{"type":"n","subject":"s\#($0 % subjects)"}"#) }.joined())
    _ = client.receive(lines: events)
  }

  @Test func `watchers get changes in the order of their commits until unwatch`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let watcher = rig.client()
    watcher.send(Self.request(1, "watch", "{}"))
    let number = try #require(Self.lines(watcher, 1).first?["result"]?["watch"]?.intValue)
    Self.apply(100, to: 3, on: rig)
    var versions: [String: Int64] = [:]
    for (index, line) in Self.lines(watcher, 100).enumerated() {
      #expect(line["method"] == .string("changed"))
      let params = line["params"]
      #expect(params?["watch"] == .integer(number))
      #expect(params?["sequence"] == .integer(Int64(index + 1)))
      #expect(params?["plugins"] == .array([.string("p")]))
      let subject = params?["subject"]?.stringValue ?? ""
      versions[subject, default: 0] += 1
      #expect(params?["version"]?.intValue == versions[subject])
      #expect(params?["decisions"]?["p"]?["n"]?.intValue == versions[subject])
    }
    watcher.send(
      Self.request(2, "unwatch", #"{"watch":\#(number)}"#) + Self.request(3, "unwatch", #"{"watch":\#(number)}"#))
    let answers = Self.lines(watcher, 2)
    #expect(answers.first?["result"]?["watch"] == .integer(number))
    #expect(answers.last?["error"]?["data"]?["code"] == .string("not_found"))
    Self.apply(1, to: 1, on: rig)
    watcher.send(Self.request(4, "health", "{}"))
    #expect(Self.lines(watcher, 1).first?["id"] == .integer(4))
  }

  @Test(arguments: [
    (#"{"subject":"s1","after":0}"#, 10), (#"{"prefix":"s","plugins":["p"],"after":20}"#, 10),
    (#"{"prefix":"s2","after":0}"#, 10),
  ])
  func `filters and after select changes`(_ params: String, _ count: Int) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    Self.apply(30, to: 3, on: rig)
    let watcher = rig.client()
    watcher.send(Self.request(1, "watch", params))
    let lines = Self.lines(watcher, count + 1).dropFirst()
    #expect(lines.count == count)
    #expect(lines.allSatisfy { $0["method"] == .string("changed") })
  }

  @Test func `a watcher gets no changes of other plugins`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    Self.apply(3, to: 3, on: rig)
    let watcher = rig.client()
    watcher.send(Self.request(1, "watch", #"{"plugins":["q"],"after":0}"#) + Self.request(2, "health", "{}"))
    #expect(Self.lines(watcher, 2).map { $0["id"] } == [.integer(1), .integer(2)])
  }

  @Test func `the sequence continues after a restart and older changes are gone`() throws {
    let store = MemoryStore()
    let first = try ServerRig(store: store)
    Self.apply(5, to: 2, on: first)
    first.stop()
    let second = try ServerRig(store: store)
    defer { second.stop() }
    let watcher = second.client()
    watcher.send(Self.request(1, "watch", #"{"after":2}"#))
    #expect(Self.lines(watcher, 2).last?["params"] == .object(["watch": .integer(1), "missed": .integer(3)]))
    Self.apply(1, to: 1, on: second)
    #expect(Self.lines(watcher, 1).last?["params"]?["sequence"] == .integer(6))
  }

  @Test func `a slow watcher learns once how much it missed and continues`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let watcher = rig.client()
    watcher.send(Self.request(1, "watch", "{}"))
    _ = Self.lines(watcher, 1)
    let total: Int64 = 30_000
    for _ in 0..<10 { Self.apply(3000, to: 7, on: rig) }
    var told: Int64 = 0
    var lags = 0
    var rest = ""
    while told < total {
      let part = watcher.receive()
      try #require(!part.isEmpty)
      rest += String(decoding: part, as: UTF8.self)
      let lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
      for line in lines.dropLast() {
        let params = try JSONValue(parsing: String(line))["params"]
        if let missed = params?["missed"]?.intValue {
          lags += 1
          told += missed
        } else {
          told += 1
          #expect(params?["sequence"] == .integer(told))
        }
      }
      rest = String(lines.last ?? "")
    }
    #expect(told == total)
    #expect(lags == 1)
  }

  @Test func `an event stream continues after the last event id`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let stream = HTTPClient(rig.client())
    stream.send("GET", "/v1/watch?subject=s1")
    #expect(stream.fields()["content-type"] == "text/event-stream")
    Self.apply(4, to: 2, on: rig)
    let lines = stream.streamLines(6)
    #expect(lines[0] == "event: changed")
    #expect(lines[1] == "id: 2" || lines[1] == "id: 1" || lines[1] == "id: 3")
    let id = try #require(lines[1].split(separator: " ").last)
    stream.client.close()
    let resumed = HTTPClient(rig.client())
    resumed.send("GET", "/v1/watch?subject=s1&after=0", nil, ["Last-Event-ID": String(id)])
    _ = resumed.fields()
    #expect(resumed.streamLines(3)[1] == lines[4])
  }

  @Test func `a stream ends when the server drains`() throws {
    let rig = try ServerRig()
    let stream = HTTPClient(rig.client())
    stream.send("GET", "/v1/watch")
    _ = stream.fields()
    rig.server.drain()
    #expect(stream.streamLines(1).isEmpty)
    rig.stop()
  }
}
