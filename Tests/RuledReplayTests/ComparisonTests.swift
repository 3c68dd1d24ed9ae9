import RuledCore
import RuledJSON
import RuledJournal
import RuledReplay
import Testing

@Suite struct ComparisonTests {
  private func played(
    _ decisions: String, subject: String = "user:1", id: String = "e1", type: String = "t",
    origin: JournalEntry.Origin = .client, effects: String = "", failures: String = "", state: UInt64 = 1,
    isRecorded: Bool = true, rules: [Played.RuleCost] = []
  ) -> Played {
    let event = #"{"type":"\#(type)","subject":"\#(subject)","id":"\#(id)"}"#
    return Played(
      entry: JournalEntry(
        sequence: 7, at: Timestamp(microseconds: 1_000_000), now: Timestamp(microseconds: 1_000_000), subject: subject,
        version: 1, revision: "r", origin: origin, event: Array(event.utf8), decisions: Array(decisions.utf8),
        effects: Array(effects.utf8), failures: Array(failures.utf8), digests: [.init(plugin: "p", state: state)]),
      isRecorded: isRecorded, rules: rules)
  }

  private func report(_ comparison: Comparison, failOn conditions: [String] = []) throws -> JSONValue {
    comparison.json(
      baseline: "b", candidate: "c", folder: "next",
      conditions: try conditions.map { text throws(UsageError) in try FailCondition(text) })
  }

  @Test func `decisions are equal, changed, new or gone, each by plugin and key`() throws {
    let comparison = Comparison()
    comparison.add(baseline: played(#""p":{"a":1,"b":2}"#), candidate: played(#""p":{"a":1,"b":3}"#))
    comparison.add(baseline: played(#""p":{"a":1}"#), candidate: played(#""p":{"a":1},"q":{"c":true}"#))
    comparison.add(baseline: played(#""p":{"a":1},"q":{"c":true}"#), candidate: played(#""p":{"a":1}"#))
    comparison.add(baseline: played(#""p":{"a":1}"#), candidate: played(#""p":{"a":1}"#))
    let report = try report(comparison)
    #expect(report["outcomes"] == ["equal": 1, "changed": 3])
    #expect(report["events"] == 4)
    let decisions = report["decisions"]?.arrayValue ?? []
    let counts = decisions.map { decision in
      (["plugin", "key"].map { decision[$0]?.stringValue ?? "" }
        + ["equal", "changed", "new", "gone"].map { decision[$0]?.text ?? "" }).joined(separator: " ")
    }
    #expect(Set(counts) == ["p a 4 0 0 0", "p b 0 1 0 0", "q c 0 0 1 1"])
    #expect(counts.last == "p a 4 0 0 0", "those with most changes come first")
    let b = decisions.first { $0["key"] == "b" }
    #expect(b?["changes"] == [["before": 2, "after": 3, "count": 1]])
  }

  @Test func `numbers within decisions are summed up on both sides`() throws {
    let comparison = Comparison()
    for earned in 1...100 {
      comparison.add(
        baseline: played(#""p":{"points":{"earned":\#(earned),"list":[{"n":1},{"n":2}]}}"#),
        candidate: played(#""p":{"points":{"earned":\#(2 * earned),"list":[{"n":1},{"n":2}]}}"#))
    }
    let numbers = try report(comparison)["decisions"]?[0]?["numbers"]
    #expect(numbers?[0]?["path"] == "earned")
    #expect(numbers?[0]?["before"] == ["sum": 5050, "mean": 50.5, "p50": 50, "p90": 90, "p99": 99])
    #expect(numbers?[0]?["after"] == ["sum": 10100, "mean": 101, "p50": 100, "p90": 180, "p99": 198])
    #expect(numbers?[1]?["path"] == "list[].n")
    #expect(numbers?[1]?["after"]?["sum"] == 300)
  }

  @Test func `an event of one side alone counts as changed`() throws {
    let comparison = Comparison()
    comparison.add(baseline: played(""), candidate: played(""))
    comparison.add(baseline: nil, candidate: played(#""p":{"a":1}"#, subject: "user:2", origin: .message))
    comparison.add(baseline: played("", subject: "user:3", origin: .timer), candidate: nil)
    let report = try report(comparison)
    #expect(report["outcomes"] == ["equal": 1, "changed": 2])
    #expect(report["messages"] == ["before": 0, "after": 1])
    #expect(report["timers"] == ["before": 1, "after": 0])
    #expect(report["subjects"] == 3)
    #expect(report["states"] == ["equal": 1, "changed": 2])
  }

  @Test func `failures are compared without file and line`() throws {
    func failure(_ line: Int, _ message: String = "boom") -> String {
      #"{"plugin":"p","rule":"r","kind":"error","message":"\#(message)","file":"p/plugin.lua","line":\#(line)}"#
    }
    let comparison = Comparison()
    comparison.add(baseline: played("", failures: failure(3)), candidate: played("", failures: failure(9)))
    #expect(try report(comparison)["outcomes"] == ["equal": 1, "changed": 0])
    comparison.add(baseline: played(""), candidate: played("", failures: failure(9, "other")))
    let report = try report(comparison)
    #expect(report["outcomes"] == ["equal": 1, "changed": 1])
    #expect(report["failures"]?["before"] == 1)
    #expect(report["failures"]?["after"] == 2)
    #expect(
      report["failures"]?["kinds"]?[1] == [
        "plugin": "p", "kind": "error", "message": "other", "file": "p/plugin.lua", "line": 9, "count": 1,
      ])
  }

  @Test func `effects are counted by plugin, sink and type`() throws {
    let mail = #"{"id":"1","plugin":"p","sink":"mail","type":"welcome","data":{}}"#
    let comparison = Comparison()
    comparison.add(baseline: played("", effects: mail), candidate: played("", effects: "\(mail),\(mail)"))
    let report = try report(comparison)
    #expect(report["effects"] == [["plugin": "p", "sink": "mail", "type": "welcome", "before": 1, "after": 2]])
    #expect(report["outcomes"]?["changed"] == 1)
  }

  @Test func `a subject whose states meet again is equal at the end`() throws {
    let comparison = Comparison()
    comparison.add(baseline: played("", state: 1), candidate: played("", state: 2))
    #expect(try report(comparison)["states"] == ["equal": 0, "changed": 1])
    #expect(try report(comparison)["outcomes"] == ["equal": 1, "changed": 0])
    comparison.add(baseline: played("", state: 3), candidate: played("", state: 3))
    #expect(try report(comparison)["states"] == ["equal": 1, "changed": 0])
  }

  @Test func `the replay is as faithful as the baseline gives recorded outcomes again`() throws {
    let comparison = Comparison()
    let same = played(#""p":{"a":1}"#)
    comparison.add(recorded: same.entry, baseline: same, candidate: same)
    let redacted = played(#""p":{"a":2}"#).entry.with(redacted: ["email"])
    comparison.add(recorded: redacted, baseline: same, candidate: same)
    let other = played(#""p":{"a":2}"#).entry.with(revision: "old")
    comparison.add(recorded: other, baseline: same, candidate: same)
    let fidelity = try report(comparison)["fidelity"]
    #expect(fidelity?["replayed"] == 3)
    #expect(fidelity?["equal"] == 1)
    #expect(
      fidelity?["different"] == [
        ["reason": "other rules then", "count": 1], ["reason": "redacted", "count": 1],
      ])
  }

  @Test func `a retry that the baseline has no need of is no event, and no difference`() throws {
    let comparison = Comparison()
    comparison.add(recorded: played("").entry, baseline: played(""), candidate: played(""))
    let retry = played("", origin: .retry)
    comparison.add(recorded: retry.entry, baseline: nil, candidate: retry)
    let report = try report(comparison)
    #expect(report["events"] == 1)
    #expect(report["fidelity"] == ["replayed": 1, "equal": 1, "different": []])
  }

  @Test func `the subjects that changed most come with the command that explains them`() throws {
    let comparison = Comparison()
    for number in 1...3 {
      comparison.add(
        baseline: played("", subject: "user:it's", id: "e\(number)"),
        candidate: played(#""p":{"a":1}"#, subject: "user:it's", id: "e\(number)"))
    }
    #expect(
      try report(comparison)["most_changed"] == [
        [
          "subject": "user:it's", "events": 3,
          "explain": #"rulectl explain 'user:it'\''s' e1 --rules next"#,
        ]
      ])
  }

  @Test func `a name that begins with a hyphen is no option of the command that explains its event`() throws {
    let comparison = Comparison()
    comparison.add(baseline: played("", subject: "--rules"), candidate: played(#""p":{"a":1}"#, subject: "--rules"))
    #expect(
      try report(comparison)["most_changed"]?[0]?["explain"] == "rulectl explain --rules next -- --rules e1")
  }

  @Test func `of a subject's changed events the first on both sides is explained, others say where they are`() throws {
    let (first, second) = (Comparison(), Comparison())
    first.add(baseline: played("", id: "m1", origin: .message), candidate: nil)
    first.add(baseline: nil, candidate: played("", id: "m2", origin: .message, isRecorded: false))
    for id in ["e3", "e4"] { second.add(baseline: played("", id: id), candidate: played(#""p":{"a":1}"#, id: id)) }
    first.merge(second)
    #expect(try report(first)["most_changed"]?[0]?["explain"] == "rulectl explain user:1 e3 --rules next")
    #expect(try report(first)["most_changed"]?[0]?["only"] == nil)
    let apart = Comparison()
    apart.add(baseline: played("", subject: "a", origin: .message), candidate: nil)
    apart.add(baseline: nil, candidate: played("", subject: "b", origin: .message, isRecorded: false))
    #expect(try report(apart)["most_changed"]?.arrayValue?.map { $0["only"] } == ["baseline", "candidate"])
  }

  @Test func `a plugin whose states alone differ is named with the first event after which they do`() throws {
    let (first, second) = (Comparison(), Comparison())
    for number in 1...3 {
      let baseline = played("", subject: "user:\(number)", id: "e\(number)", state: 1)
      let candidate = played("", subject: "user:\(number)", id: "e\(number)", state: number == 1 ? 1 : 2)
      (number == 2 ? first : second).add(baseline: baseline, candidate: candidate)
    }
    second.merge(first)
    #expect(try report(second)["outcomes"] == ["equal": 3, "changed": 0])
    #expect(
      try report(second)["other_states"] == [
        ["plugin": "p", "subject": "user:2", "explain": "rulectl explain user:2 e2 --rules next"]
      ])
  }

  @Test func `parts of a replay are merged into the result of a single comparison`() throws {
    let (whole, left, right) = (Comparison(), Comparison(), Comparison())
    for number in 1...200 {
      let baseline = played(#""p":{"a":\#(number % 7),"b":"x"}"#, subject: "user:\(number % 20)", id: "\(number)")
      let candidate = played(
        #""p":{"a":\#(number % 5),"b":"x"}"#, subject: "user:\(number % 20)", id: "\(number)", state: UInt64(number % 2)
      )
      whole.add(baseline: baseline, candidate: candidate)
      (number % 20 < 10 ? left : right).add(baseline: baseline, candidate: candidate)
    }
    left.merge(right)
    var (expected, merged) = (try report(whole).objectValue ?? [:], try report(left).objectValue ?? [:])
    // Of equally common changes, the merged report may list others.
    for name in ["most_changed", "decisions"] { (expected[name], merged[name]) = (nil, nil) }
    #expect(expected == merged)
    #expect(left.outcomes == whole.outcomes)
  }
}
