import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// `json.decode` of rules against the verdicts of JSONTestSuite.
@Suite struct JSONVerdictTests {
  @Test func `a rule's json.decode takes JSON and refuses other texts`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local data = event.data
        local function bytes(list)
          local text = {}
          for i, byte in ipairs(list) do text[i] = string.char(byte) end
          return table.concat(text)
        end
        local _, why = json.decode(string.rep(bytes(data.unit), data.count) .. bytes(data.rest))
        decide("taken", why == nil)
        """))
    let cases = JSONVerdict.all()
    #expect(cases.count == 283)
    for example in cases {
      let parts = example.parts
      let outcome = try bench.handle(#"{"data":{"unit":\#(parts.unit),"count":\#(parts.count),"rest":\#(parts.rest)}}"#)
      #expect(outcome.failure == nil, "\(example)")
      #expect("\(outcome.decisions)".contains("true") == example.isJSON, "\(example) \(outcome.decisions)")
    }
  }
}
