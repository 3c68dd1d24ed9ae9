import RuledCore
import TestSupport
import Testing

@Suite struct ShadowCommandTests {
  @Test func `the status shows what came out differently where no decision did, and counts live events apart`() throws {
    let effect: JSONValue = ["plugin": "p", "sink": "mail", "type": "welcome", "data": ["n": 1]]
    let daemon = try FakeDaemon { request in
      [
        request.result([
          "candidate": "abc", "since": "2026-03-01T09:00:00.000Z", "percent": 100, "events": 32, "skipped": 0,
          "subjects": 339, "outcomes": ["equal": 22, "changed": 339], "decisions": [],
          "examples": [
            [
              "subject": "it's", "event": "e1", "before": ["decisions": ["p": ["same": 1]], "effects": []],
              "after": ["decisions": ["p": ["same": 1]], "effects": [effect]],
            ], ["subject": "a b", "event": "e2", "before": ["decisions": [:], "effects": [effect]], "after": .null],
          ],
        ])
      ]
    }
    defer { daemon.stop() }
    let text = Run("shadow", "status", on: daemon).output
    #expect(text.contains("32 events of 339 subjects: 22 equal, 10 changed, 0 subjects skipped\n"), "\(text)")
    #expect(text.contains("329 further events happen in the shadow alone: messages and timers of its own\n"), "\(text)")
    #expect(
      text.contains(
        """
        examples
          "it's"  e1
            live    p.same = 1
            shadow  → mail welcome {"n":1}; p.same = 1
            rulectl explain 'it'\\''s' e1 --rules DIR
          "a b"  e2
            live    → mail welcome {"n":1}
            shadow  did not happen

        """), "\(text)")
  }
}
