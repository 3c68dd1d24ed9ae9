import IOTestSupport
import RuledCore
import RuledIO
import Testing

@testable import RuledServing

@Suite struct ExplainedTextTests {
  private static let rules = """
    plugin { name = "p", version = "1" }
    rule "s" { on = "x", run = function(event, state)
      state.secret = "top" .. "secret"
      state.list = { { ["n." .. state.secret .. "[5]"] = 1 } }
    end }
    rule "t" { on = "x", priority = -1, run = function(event, state)
      local secret = state.secret
      send("to:" .. secret, "told") timer.set(secret, now() + 1, "late") once(secret) topic.join(secret)
      count("p.n", { a = secret }) count("p." .. secret) board.set(secret, 7) publish(secret, "news", {}, { except = secret })
      state[secret] = state.list[1]["n." .. secret .. "[5]"]
      raise("told." .. secret) raise("heard." .. secret) raise("plain") send("b", "told." .. secret)
    end }
    rule "u" { on = { "heard.*", "plain" }, run = function() end }
    """

  @Test(arguments: [true, false])
  func `only who may read states gets texts that a rule may have made of them`(_ isAdmin: Bool) throws {
    let rig = try ServerRig(rules: Self.rules)
    defer { rig.stop() }
    let reply = Signal<JSONValue>()
    rig.workers.perform(on: 0) { worker in
      let line = #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"x","subject":"s","explain":true}}"#
      let padded = Array(line.utf8) + [UInt8](repeating: 0, count: LineFramer.padding)
      padded.withView { text in
        let target = ReplyTarget(.worker(0), connection: 0, isAdmin: isAdmin)
        _ = worker.executeRequest(text.extracting(first: line.utf8.count), readable: text.count, target)
      }
      reply.set((try? JSONValue(parsing: worker.submission.replyBytes.bytes.extracting(droppingFirst: 1))) ?? .null)
    }
    let answer = reply.wait()
    let trace = answer["result"]?["trace"]
    #expect(trace?.text.contains("topsecret") == isAdmin, "\(answer)")
    let entry = trace?.arrayValue?.first { $0["rule"] == "t" }
    let sends: JSONValue = isAdmin ? ["told to to:topsecret", "told.topsecret to b"] : ["told to …", "… to …"]
    #expect(entry?["sends"] == sends, "\(entry ?? .null)")
    #expect(entry?["raised"] == (isAdmin ? ["told.topsecret", "heard.topsecret", "plain"] : ["…", "…", "plain"]))
    #expect(
      entry?["counts"] == (isAdmin ? [#"p.n {"a":"topsecret"}"#, "p.topsecret {}"] : ["p.n …", "… …"]),
      "\(entry?["counts"] ?? .null)")
    #expect(entry?["writes"] == [isAdmin ? "state.topsecret" : "state.…"])
    #expect(
      entry?["reads"]?.arrayValue?.last == (isAdmin ? "state.list[1].n.topsecret[5]" : "state.list[1].….…[…]"))
    #expect(entry?["micros"]?.intValue != nil)
  }
}
