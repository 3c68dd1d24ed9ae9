import RuledCore
import Testing

@testable import RuledWire

@Suite("Params of the other methods")
struct ParamsTests {
  @Test
  func `A query's name, subject and arguments come as sent`() throws {
    try Wire.request("query", #"{"name":"onboarding.stamps","subject":"user:1","args":{"n" : 1.0}}"#) { request in
      let query = try QueryParams(request)
      #expect(query.plugin.equals("onboarding"))
      #expect(query.query.equals("stamps"))
      #expect(query.subject?.equals("user:1") == true)
      #expect(query.argsText.equals(#"{"n" : 1.0}"#))
      #expect(query.args?.kind == .object)
    }
    try Wire.request("query", #"{"name":"nothing","args":null}"#) { request in
      let query = try QueryParams(request)
      #expect(query.plugin.equals("nothing") && query.query.isEmpty)
      #expect(query.subject == nil && query.args == nil && query.argsText.isEmpty)
    }
  }

  @Test(arguments: [
    ("watch", #"{"sujbect":"s"}"#, "params.sujbect: is unknown; did you mean “subject”?"),
    ("subjects", #"{"limit":1,"frm":"a"}"#, "params.frm: is unknown; known are prefix, after, limit"),
    ("state", #"{"subject":"s","plugins":null}"#, "params.plugins: is unknown; did you mean “plugin”?"),
    ("health", #"{"x":1}"#, "params.x: is unknown; there are none"),
    ("query", #"{"name":"p.q","arg":{}}"#, "params.arg: is unknown; did you mean “args”?"),
    ("clock", #"{"advanced":"1s"}"#, "params.advanced: is unknown; did you mean “advance”?"),
    ("drop", #"{"":1}"#, #"params[""]: is unknown; known are parked, plugin"#),
  ])
  func `A member that a method does not read is an error that names the nearest one`(
    _ method: String, _ params: String, _ message: String
  ) throws {
    let error = #expect(throws: RequestError.self) {
      try Wire.request(method, params) { _ = try ParamsReader($0) }
    }
    #expect(error?.code == .invalidParams && error?.message == message)
  }

  @Test
  func `Lists have 100 entries unless asked for otherwise`() throws {
    #expect(try Wire.request("subjects", #"{"prefix":"d","after":"x"}"#) { try PageParams($0).limit } == 100)
    #expect(try Wire.request("parked", #"{"limit":1000}"#) { try PageParams($0).limit } == 1000)
    #expect(try Wire.request("parked", #"{"limit":7.0}"#) { try PageParams($0).limit } == 7)
    for limit in ["0", "1001", "-1", "1.5", "\"7\"", "true", "1e300", "18446744073709551615"] {
      #expect(
        try Wire.fault("subjects", "{\"limit\":\(limit)}") { (r) throws(RequestError) in try PageParams(r) }
          == "params.limit")
    }
  }

  @Test
  func `A watch names subjects, plugins and where to go on`() throws {
    let params = #"{"subject":"s","prefix":"p","plugins":["a","b"],"after":12}"#
    let watch = try Wire.request("watch", params) { try WatchParams($0) }
    #expect(watch.subject == "s" && watch.prefix == "p" && watch.plugins == ["a", "b"] && watch.after == 12)
    let all = try Wire.request("watch", "{}") { try WatchParams($0) }
    #expect(all.subject == nil && all.prefix.isEmpty && all.plugins == nil && all.after == nil)
    for (params, path) in [
      (#"{"plugins":["a",1]}"#, "params.plugins[1]"), (#"{"plugins":"a"}"#, "params.plugins"),
      (#"{"after":-1}"#, "params.after"), (#"{"subject":1}"#, "params.subject"),
    ] {
      #expect(try Wire.fault("watch", params) { (r) throws(RequestError) in try WatchParams(r) } == path)
    }
    #expect(try Wire.request("unwatch", #"{"watch":3}"#) { try $0.watch() } == 3)
    #expect(try Wire.fault("unwatch", "{}") { (r) throws(RequestError) in try r.watch() } == "params.watch")
  }

  @Test
  func `Parked events are chosen by id or by plugin, not by both`() throws {
    func select(_ params: String) throws -> ParkedSelection {
      try Wire.request("retry", params) { try ParkedSelection($0) }
    }
    func fault(_ params: String) throws -> String? {
      try Wire.fault("drop", params) { (r) throws(RequestError) in try ParkedSelection(r) }
    }
    #expect(try select(#"{"parked":"17"}"#) == .event(id: "17"))
    #expect(try select(#"{"plugin":"a","parked":null}"#) == .plugin("a"))
    #expect(try fault("{}") == "params.parked")
    #expect(try fault(#"{"parked":17}"#) == "params.parked")
    #expect(try fault(#"{"parked":"1","plugin":"a"}"#) == "params.plugin")
  }

  @Test
  func `Many labels are read, of repeated ones the last`() throws {
    let labels = (0..<200_000).map { "\"a\($0)\":\"x\",\"a\($0)\":\"y\"" }.joined(separator: ",")
    try Wire.request("counters", "{\"labels\":{\(labels)}}") { request in
      let counters = try CountersParams(request)
      #expect(counters.labels.count == 200_000 && counters.labels.allSatisfy { $0.value == "y" })
      #expect(counters.labels.first?.name == "a0")
    }
  }

  @Test
  func `Counters are chosen by prefix and labels`() throws {
    let params = #"{"prefix":"a","labels":{"day":"x","n":1.0,"gone":null,"day":"y"}}"#
    let counters = try Wire.request("counters", params) { try CountersParams($0) }
    #expect(counters.prefix == "a")
    #expect(counters.labels == [.init(name: "n", value: "1.0"), .init(name: "day", value: "y")])
    #expect(
      try Wire.fault("counters", #"{"labels":{"a":{}}}"#) { (r) throws(RequestError) in try CountersParams(r) }
        == "params.labels.a"
    )
    #expect(
      try Wire.fault("counters", #"{"labels":[]}"#) { (r) throws(RequestError) in try CountersParams(r) }
        == "params.labels")
  }

  @Test
  func `The clock is set or advanced`() throws {
    func read(_ params: String) throws -> ClockParams { try Wire.request("clock", params) { try ClockParams($0) } }
    func fault(_ params: String) throws -> String? {
      try Wire.fault("clock", params) { (r) throws(RequestError) in try ClockParams(r) }
    }
    #expect(try read(#"{"set":"1970-01-01T00:00:01Z"}"#) == .set(Timestamp(microseconds: 1_000_000)))
    #expect(try read(#"{"advance":"14d"}"#) == .advance(microseconds: 14 * 86_400_000_000))
    #expect(try read(#"{"advance":"1w1h30m"}"#) == .advance(microseconds: 7 * 86_400_000_000 + 5_400_000_000))
    #expect(try read(#"{"advance":"0s"}"#) == .advance(microseconds: 0))
    #expect(try fault("{}") == "params.set")
    #expect(try fault(#"{"set":1}"#) == "params.set")
    #expect(try fault(#"{"set":"1970-01-01T00:00:01Z","advance":"1s"}"#) == "params.advance")
    for advance in ["\"14\"", "\"-1s\"", "\"1y\"", "\"30m1h\"", "14", "\"\""] {
      #expect(try fault("{\"advance\":\(advance)}") == "params.advance")
    }
  }

  @Test
  func `Every method refuses an array for its params`() throws {
    #expect(try Wire.fault("health", "[]") { (r) throws(RequestError) in try r.checkNoParams() } == "params")
    #expect(try Wire.fault("export", "[1]") { (r) throws(RequestError) in try r.subject() } == "params")
    #expect(try Wire.fault("query", "[]") { (r) throws(RequestError) in try QueryParams(r) } == "params")
    #expect(try Wire.fault("query", "{}") { (r) throws(RequestError) in try QueryParams(r) } == "params.name")
    #expect(try Wire.fault("state", "{}") { (r) throws(RequestError) in try StateParams(r) } == "params.subject")
  }

  @Test
  func `A request about a cluster may name a node`() throws {
    #expect(try Wire.request("cluster", "{}") { try ClusterParams($0) } == .show)
    #expect(try Wire.request("cluster_undrain", #"{"node":"a"}"#) { try ClusterParams($0) } == .undrain(node: "a"))
    #expect(
      try Wire.request("cluster_drain", #"{"node":"a"}"#) { try ClusterParams($0) } == .drain(node: "a", force: false))
    #expect(
      try Wire.request("cluster_drain", #"{"node":"a","force":true}"#) { try ClusterParams($0) }
        == .drain(node: "a", force: true))
    for (method, params, path) in [
      ("cluster_rebalance", #"{"node":"a"}"#, "params.node"), ("cluster_drain", "{}", "params.node"),
      ("cluster_undrain", #"{"force":true}"#, "params.force"),
    ] {
      #expect(try Wire.fault(method, params) { (r) throws(RequestError) in try ClusterParams(r) } == path)
    }
  }
}
