import RuledCore
import RuledEngine
import Testing

@Suite struct DryRunTests {
  private static let plugin = """
    rule 'n' { on = 'n', run = function(event, state)
      log.info('seen') count('p.n') state.n = (state.n or 0) + 1 once('k') emit('mail', 'm', {}) send('user:2', 'other')
      timer.set('t', now() + 1, 'other')
    end }
    rule 'loop' { on = 'loop', run = function() while true do end end }
    rule 'raises' { on = 'raises', run = function() log.warn('before') error('no') end }
    """

  @Test func `three dry runs of a loop leave the live plugin as it was`() throws {
    let log = Lines()
    let engine = try Engine(["p": Self.plugin], log: log)
    try engine.send("n")
    let runtime = try #require(engine.local.evaluator.catalog.plugins.first).runtime
    let before = (runtime.runs, runtime.failures, log.all.count, runtime.percentile(1))
    for _ in 1...4 {
      let outcome = try engine.send("loop", [:], ["dryrun": true])
      #expect(outcome["failures"]?[0]?["kind"] == "instructions", "\(outcome)")
      #expect(try engine.send("raises", [:], ["dryrun": true])["failures"]?[0]?["message"] == "no")
    }
    #expect(!runtime.isSuspended && !runtime.hasStopped)
    #expect(runtime.runs == before.0)
    #expect(runtime.failures == before.1)
    #expect(runtime.causes.isEmpty)
    #expect(runtime.percentile(1) == before.3)
    #expect(log.all.count == before.2, "\(log.all)")
    #expect(try engine.send("n")["failures"] == [])
  }

  @Test func `a dry run writes nothing and logs nothing`() throws {
    let log = Lines()
    let engine = try Engine(["p": Self.plugin], log: log)
    try engine.send("n")
    let contents = try engine.local.contents()
    let lines = log.all.count
    for _ in 1...3 { #expect(try engine.send("n", [:], ["dryrun": true])["failures"] == []) }
    #expect(try engine.local.contents().elementsEqual(contents) { $0 == $1 })
    #expect(log.all.count == lines)
    #expect(engine.local.changes.count == 2)
  }

  @Test func `a plugin that is suspended stays so, whatever a dry run does`() throws {
    let engine = try Engine(["p": Self.plugin])
    let runtime = try #require(engine.local.evaluator.catalog.plugins.first).runtime
    runtime.suspend()
    let outcome = try engine.send("n", [:], ["dryrun": true])
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("suspended") == true)
    #expect(runtime.isSuspended)
  }
}
