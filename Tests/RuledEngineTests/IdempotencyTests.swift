import RuledCore
import Testing

@Suite struct IdempotencyTests {
  private static let counting = "rule 'n' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 decide('n', s.n) end }"

  @Test func aRepeatGivesTheFirstOutcomeAgainAndRunsNothing() throws {
    let engine = try Engine(["p": Self.counting])
    let first = try engine.send("a", [:], ["id": "1"])
    let second = try engine.send("a", [:], ["id": "1"])
    #expect(first["duplicate"] == false)
    #expect(second["duplicate"] == true)
    #expect(second["decisions"] == first["decisions"])
    #expect(second["version"] == first["version"])
    #expect(try engine.state("p")?["n"] == 1)
  }

  @Test(arguments: [17, 100, 145, 400])
  func farMoreIdsThanARecordHoldsAreRemembered(count: Int) throws {
    let engine = try Engine(["p": Self.counting])
    for id in 0..<count { try engine.send("a", [:], ["id": .string("\(id)")]) }
    for id in 0..<count {
      let outcome = try engine.send("a", [:], ["id": .string("\(id)")])
      #expect(outcome["duplicate"] == true)
      #expect(outcome["decisions"]?["p"]?["n"] == .integer(Int64(id + 1)))
    }
    #expect(try engine.state("p")?["n"] == .integer(Int64(count)))
  }

  @Test func anIdIsForgottenWhenTheWindowIsOver() throws {
    let engine = try Engine(["p": Self.counting])
    for id in 0..<20 { try engine.send("a", [:], ["id": .string("\(id)")]) }
    try engine.local.advance(microseconds: Limits.dedupWindow - Limits.second)
    #expect(try engine.send("a", [:], ["id": "0"])["duplicate"] == true)
    #expect(try engine.send("a", [:], ["id": "19"])["duplicate"] == true)
    try engine.local.advance(microseconds: 2 * Limits.second)
    #expect(try engine.send("a", [:], ["id": "0"])["duplicate"] == false)
    #expect(try engine.send("a", [:], ["id": "19"])["duplicate"] == false)
    #expect(try engine.state("p")?["n"] == 22)
  }

  @Test func anotherSourceOrSubjectMakesItAnotherEvent() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", [:], ["id": "1", "source": "x"])
    #expect(try engine.send("a", [:], ["id": "1", "source": "y"])["duplicate"] == false)
    #expect(try engine.send("a", [:], to: "user:2", ["id": "1", "source": "x"])["duplicate"] == false)
    #expect(try engine.send("a", [:], ["id": "1", "source": "x"])["duplicate"] == true)
  }

  @Test func longIdsAreToldApart() throws {
    let engine = try Engine(["p": Self.counting])
    let long = String(repeating: "x", count: 300)
    try engine.send("a", [:], ["id": .string(long + "1")])
    #expect(try engine.send("a", [:], ["id": .string(long + "2")])["duplicate"] == false)
    #expect(try engine.send("a", [:], ["id": .string(long + "1")])["duplicate"] == true)
  }

  @Test func aDryRunNeitherLooksUpNorLeavesAnIdNorChangesAnything() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", [:], ["id": "1"])
    let before = try engine.local.contents()
    let outcome = try engine.send("a", [:], ["id": "1", "dryrun": true])
    #expect(outcome["duplicate"] == false)
    #expect(outcome["decisions"]?["p"]?["n"] == 2)
    try engine.send("a", [:], ["id": "2", "dryrun": true])
    let after = try engine.local.contents()
    #expect(after.map(\.key) == before.map(\.key) && after.map(\.value) == before.map(\.value))
    #expect(try engine.send("a", [:], ["id": "2"])["duplicate"] == false)
  }

  @Test func anIdIsRememberedOverARestart() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", [:], ["id": "1"])
    let again = try Engine(["p": Self.counting], store: engine.store)
    #expect(try again.send("a", [:], ["id": "1"])["duplicate"] == true)
    #expect(try again.send("a", [:], ["id": "2"])["version"] == 2)
  }
}
