import RuledCore
import RuledEngine
import RuledJSON
import TestSupport
import Testing

@testable import RuledServer

/// What an owner of a log shows of what another node has counted for it, and what the node learns from the owner.
@Suite struct CountingTests {
  private static let rules = """
    plugin { name = "p", version = "1" }
    rule "add" { on = "add", run = function(event, state)
      state.n = (state.n or 0) + 1
      decide("n", state.n)
    end }
    rule "pass" { on = "pass", run = function(event)
      if event.data.left > 0 then send(event.data.to, "pass", { left = event.data.left - 1, to = event.subject }) end
    end }
    rule "fail" { on = "boom", run = function() error("inside") end }
    rule "spin" { on = "spin", run = function() while true do end end }
    rule "time" { on = "time", run = function() decide("time", now()) end }
    query "broken" (function() error("inside") end)
    """

  private static func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(params)}}"# + "\n"
  }

  private static func event(_ type: String, _ subject: Int, _ more: String = "") -> String {
    request("event", #""type":"\#(type)","subject":"s\#(subject)"\#(more)"#)
  }

  /// The first subjects that the node evaluates, or that it does not.
  private static func subjects(_ count: Int, lent: Bool, _ rig: SharingRig) -> [Int] {
    let all = (0..<1000).filter { subject in
      (rig.owner.services.shares?[Partition(of: Array("s\(subject)".utf8))] != nil) == lent
    }
    return Array(all.prefix(count))
  }

  private static func plugin(_ rig: SharingRig) throws -> PluginRuntime {
    try #require(rig.owner.services.status.catalog?.plugins.first?.runtime)
  }

  private static func metric(_ name: String, _ rig: SharingRig) -> String? {
    let lines = String(decoding: DaemonMetrics.text(rig.owner.services), as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
  }

  @Test func `runs, failures and errors are counted once, before the reply comes, and stay when the node leaves`()
    throws
  {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let (client, runtime) = (rig.owner.client(), try Self.plugin(rig))
    let subjects = Self.subjects(10, lent: true, rig) + Self.subjects(10, lent: false, rig)
    for turn in 0..<5 {
      for subject in subjects { client.send(Self.event("add", subject, #","id":"\#(turn)""#)) }
      _ = client.receive(lines: subjects.count)
      #expect(runtime.runs == (turn + 1) * subjects.count)
    }
    for subject in subjects { client.send(Self.event("add", subject, #","id":"0""#)) }
    for subject in subjects { client.send(Self.event("boom", subject)) }
    for subject in subjects {
      client.send(Self.request("query", #""name":"p.broken","subject":"s\#(subject)""#))
    }
    _ = client.receive(lines: 3 * subjects.count)
    #expect(runtime.runs == 120 && runtime.failures == 20)
    #expect(runtime.causes == [PluginRuntime.Cause(rule: "fail", kind: .error): 20])
    for isThere in [true, false] {
      #expect(eventually { Self.metric("ruled_events_total", rig) == "140" })
      #expect(Self.metric("ruled_events_duplicate_total", rig) == "20")
      #expect(Self.metric("ruled_queries_total", rig) == "20")
      #expect(Self.metric(#"ruled_request_errors_total{code="rule_failed"}"#, rig) == "20")
      #expect(Self.metric(#"ruled_plugin_runs_total{plugin="p"}"#, rig) == "120")
      #expect(Self.metric(#"ruled_rule_failures_total{plugin="p",rule="fail",kind="error"}"#, rig) == "20")
      guard isThere else { continue }
      rig.leave()
      #expect(eventually { rig.lending.overview.nodes.isEmpty })
    }
    rig.join()
    #expect(eventually { rig.lent == 128 })
    for subject in subjects { client.send(Self.event("add", subject)) }
    _ = client.receive(lines: subjects.count)
    #expect(runtime.runs == 140)
  }

  @Test func `the runs of a whole cascade are counted when its end is known`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let (client, runtime) = (rig.owner.client(), try Self.plugin(rig))
    let (lent, own) = (Self.subjects(8, lent: true, rig), Self.subjects(8, lent: false, rig))
    for (number, pair) in zip(lent, own).enumerated() {
      let (first, second) = number % 2 == 0 ? pair : (pair.1, pair.0)
      client.send(Self.event("pass", first, #","wait":"cascade","data":{"left":9,"to":"s\#(second)"}"#))
      #expect(!client.receive(lines: 1).contains("pending"))
      #expect(runtime.runs == 10 * (number + 1))
    }
  }

  @Test(arguments: [true, false])
  func `a plugin that is suspended where it was stopped is so everywhere, until it is resumed`(_ onNode: Bool) throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let (client, runtime) = (rig.owner.client(), try Self.plugin(rig))
    let there = try #require(Self.subjects(1, lent: onNode, rig).first)
    let elsewhere = try #require(Self.subjects(1, lent: !onNode, rig).first)
    for _ in 0..<3 {
      client.send(Self.event("spin", there))
      #expect(client.receive(lines: 1).contains("failures"))
    }
    #expect(runtime.isSuspended)
    #expect(rig.owner.log.text.contains("the plugin is suspended"))
    let health = rig.owner.services.status.health(rig.owner.services)
    #expect(health["suspended"] == ["p"])
    for subject in [there, elsewhere] {
      #expect(
        eventually {
          client.send(Self.event("add", subject))
          return client.receive(lines: 1).contains("the plugin is suspended")
        })
    }
    do {
      let hold = rig.lending.takeBackAndWait()
      runtime.resume()
      withExtendedLifetime(hold) {}
    }
    #expect(eventually { rig.lent == 128 })
    for subject in [there, elsewhere] {
      client.send(Self.event("add", subject))
      #expect(!client.receive(lines: 1).contains("suspended"))
    }
    #expect(!runtime.isSuspended)
  }

  /// The letters are stops and successes, upper case on the node; three stops in a row on one of both are enough.
  @Test(arguments: [
    ("sSs", true), ("SsS", true), ("sSS", true), ("SSs", true), ("sSas", false), ("SsAs", false), ("SsaS", false),
    ("sSAS", false), ("SSasS", true),
  ])
  func `stops in a row are counted over the nodes`(_ runs: String, _ isSuspended: Bool) throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let (client, runtime) = (rig.owner.client(), try Self.plugin(rig))
    let there = try #require(Self.subjects(1, lent: true, rig).first)
    let here = try #require(Self.subjects(1, lent: false, rig).first)
    for run in runs {
      client.send(Self.event(run.lowercased() == "s" ? "spin" : "add", run.isUppercase ? there : here))
      #expect(!client.receive(lines: 1).contains("suspended"))
    }
    #expect(runtime.isSuspended == isSuspended)
    for subject in [there, here] {
      client.send(Self.event("add", subject))
      #expect(client.receive(lines: 1).contains("the plugin is suspended") == isSuspended)
    }
  }

  @Test func `a node that joins anew learns which plugin is suspended`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let (client, runtime) = (rig.owner.client(), try Self.plugin(rig))
    let subject = try #require(Self.subjects(1, lent: true, rig).first)
    rig.leave()
    #expect(eventually { rig.lending.overview.nodes.isEmpty })
    runtime.suspend()
    rig.join()
    #expect(eventually { rig.lent == 128 })
    client.send(Self.event("add", subject))
    #expect(client.receive(lines: 1).contains("the plugin is suspended"))
  }

  @Test func `a manual clock that was changed stands there on the node too, in the same session`() throws {
    let clock = EngineClock(manual: Timestamp(microseconds: 1_700_000_000_000_000))
    let rig = try SharingRig(rules: Self.rules, clock: clock)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let subject = try #require(Self.subjects(1, lent: true, rig).first)
    for hours in 0..<3 {
      let time = 1_700_000_000_000_000 + Int64(hours) * 3_600_000_000
      do {
        let hold = rig.lending.takeBackAndWait()
        clock.set(Timestamp(microseconds: time))
        withExtendedLifetime(hold) {}
      }
      #expect(eventually { rig.lent == 128 })
      client.send(Self.event("time", subject))
      let reply = try JSONValue(parsing: client.receive(lines: 1))
      let decided = reply["result"]?["decisions"]?["p"]?["time"]
      #expect(decided == .integer(time / 1_000_000) || decided == .number(Double(time) / 1e6), "\(reply)")
    }
    #expect(!rig.nodeLog.text.contains("evaluates no longer"))
  }
}
