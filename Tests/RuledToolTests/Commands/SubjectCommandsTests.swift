import RuledCore
import RuledTool
import Testing

/// Commands on subjects: query, state, subjects, export, forget.
struct SubjectCommandsTests {
  @Test func `A query takes a subject and arguments in any number`() throws {
    let daemon = try FakeDaemon(result: ["count": 1])
    defer { daemon.stop() }
    let expected: [JSONValue] = [
      ["name": "p.q"], ["subject": "user:7", "name": "p.q"], ["name": "p.q", "args": ["from": "x", "n": 2]],
      ["subject": "user:7", "name": "p.q", "args": ["n": 2]], ["subject": "a=b", "name": "p.q", "args": ["n": 2]],
      ["name": "p.q", "args": ["a": [1], "n": 2]],
    ]
    let runs = [
      Run("query", "p.q", on: daemon), Run("query", "p.q", "user:7", on: daemon),
      Run("query", "p.q", "from=x", "n=2", on: daemon), Run("query", "p.q", "user:7", "n=2", on: daemon),
      Run("query", "p.q", "--subject", "a=b", "n=2", on: daemon),
      Run("query", "p.q", "--args", "{\"a\":[1]}", "n=2", on: daemon),
    ]
    #expect(daemon.requests.map(\.params) == expected)
    #expect(daemon.requests.allSatisfy { $0.method == "query" })
    #expect(runs.allSatisfy { $0.exit == .done && $0.output == "{\n  \"count\": 1\n}\n" })
    #expect(Run("query", "p.q", "--json", on: daemon).output == "{\"count\":1}\n")
  }

  @Test func `A query that fails is reported with file and line`() throws {
    let daemon = try FakeDaemon(
      error: RequestError(
        .ruleFailed, "the query failed",
        details: [
          "plugin": "p", "rule": "q", "kind": "error", "message": "boom",
          "file": "p/plugin.lua", "line": 3,
        ]))
    defer { daemon.stop() }
    let run = Run("query", "p.q", on: daemon)
    #expect(run.exit == .failed)
    #expect(run.errors == "rulectl: p, query 'q': p/plugin.lua:3: boom (error)\n")
  }

  @Test func `A missing subject is the answer no`() throws {
    let daemon = try FakeDaemon(error: RequestError(.notFound, "nothing is held on 'x'"))
    defer { daemon.stop() }
    for run in [Run("state", "x", on: daemon), Run("export", "x", on: daemon), Run("query", "a.b", on: daemon)] {
      #expect(run.exit == .no)
      #expect(run.output.isEmpty)
      #expect(run.errors == "rulectl: nothing is held on 'x'\n")
    }
  }

  @Test func `State is shown plugin by plugin`() throws {
    let result: JSONValue = ["subject": "s", "version": 4, "plugins": ["a": ["n": 1], "b": [:]]]
    let daemon = try FakeDaemon(result: result)
    defer { daemon.stop() }
    #expect(Run("state", "s", on: daemon).output == "s  version 4\n\na\n{\n  \"n\": 1\n}\n\nb\n{}\n")
    #expect(Run("state", "s", "--plugin", "a", "--json", on: daemon).output == result.text + "\n")
    #expect(daemon.requests.map(\.params) == [["subject": "s"], ["subject": "s", "plugin": "a"]])
  }

  @Test func `Subjects are one a line, and a hint follows a page that is not the last`() throws {
    let daemon = try FakeDaemon { request in
      switch request.params["after"]?.stringValue {
      case nil: [request.result(["subjects": ["a", "b"], "next": "b"])]
      case "b": [request.result(["subjects": ["c"], "next": "c"])]
      default: [request.result(["subjects": ["d"]])]
      }
    }
    defer { daemon.stop() }
    let page = Run("subjects", "--limit=2", "--prefix", "x", on: daemon)
    #expect(page.output == "a\nb\n")
    #expect(page.errors == "2 shown, and there are more: list them with --all, or continue with --after b\n")
    let all = Run("subjects", "--all", on: daemon)
    #expect(all.output == "a\nb\nc\nd\n")
    #expect(all.errors.isEmpty)
    #expect(Run("subjects", "--all", "--json", on: daemon).output == "{\"subjects\":[\"a\",\"b\",\"c\",\"d\"]}\n")
    #expect(Run("subjects", "--after", "c", on: daemon).output == "d\n")
    #expect(daemon.requests.first?.params == ["prefix": "x", "limit": 2])
    #expect(daemon.requests.last?.params == ["after": "c"])
    #expect(Run("subjects", "--limit", "0", on: daemon).exit == .failed)
    #expect(Run("subjects", "--help").output.contains("Lists the first 100, "))
  }

  @Test func `Empty lists say so`() throws {
    let daemon = try FakeDaemon { request in
      switch request.method {
      case "counters": [request.result([])]
      case "topics": [request.result(["topics": []])]
      case "subjects": [request.result(["subjects": []])]
      case "parked": [request.result(["parked": []])]
      default: [request.result(["revision": "r", "plugins": [], "errors": []])]
      }
    }
    defer { daemon.stop() }
    #expect(Run("subjects", on: daemon).errors == "no subjects\n")
    #expect(Run("subjects", on: daemon).output.isEmpty)
    #expect(Run("parked", on: daemon).output == "nothing is parked\n")
    #expect(Run("topics", on: daemon).output == "no topics\n")
    #expect(Run("counters", on: daemon).output == "no counters\n")
    #expect(Run("rules", on: daemon).output == "revision r\n\nno plugins are loaded\n")
  }

  @Test func `Counters are asked for by prefix and labels`() throws {
    let daemon = try FakeDaemon(result: [
      ["name": "p.installs", "labels": ["platform": "ios", "day": 3], "value": 12345],
      ["name": "p.n", "labels": [:], "value": 7],
    ])
    defer { daemon.stop() }
    let run = Run("counters", "p.", "platform=ios", on: daemon)
    #expect(run.output == "NAME         VALUE  LABELS\np.installs  12,345  platform=ios day=3\np.n              7  \n")
    _ = Run("counters", "platform=ios", on: daemon)
    _ = Run("counters", on: daemon)
    #expect(
      daemon.requests.map(\.params) == [
        ["prefix": "p.", "labels": ["platform": "ios"]], ["labels": ["platform": "ios"]], [:],
      ])
  }

  @Test func `An export is JSON for a file`() throws {
    let daemon = try FakeDaemon(result: ["subject": "s", "timers": []])
    defer { daemon.stop() }
    #expect(Run("export", "s", on: daemon).output == "{\n  \"subject\": \"s\",\n  \"timers\": []\n}\n")
    #expect(daemon.request?.method == "export")
    #expect(daemon.request?.params == ["subject": "s"])
  }
}
