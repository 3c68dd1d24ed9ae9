import RuledCore
import RuledReports
import Testing

struct TraceTreeTests {
  @Test func `Many elements of a list that a rule read are one path, and few have their values`() {
    let paths = ["state.n"] + (1...6).flatMap { ["state.list[\($0)]", "state.list[\($0)].at"] } + ["state.two[1]"]
    let outcome: JSONValue = [
      "trace": [
        [
          "plugin": "p", "rule": "r", "fired": true, "reads": .array(paths.map { .string($0) }),
          "values": ["state.n": 1, "state.list[1].at": 5, "state.two[1]": 2],
        ]
      ]
    ]
    let text = TraceTree(outcome, style: .plain).text(type: "x")
    #expect(text.contains("reads state.n = 1, state.list[1…6], state.list[1…6].at, state.two[1] = 2\n"), "\(text)")
  }
}
