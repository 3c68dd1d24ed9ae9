import RuledCore
import RuledJSON
import TestSupport
import Testing

@testable import RuledTool

@Suite struct EffectsCommandTests {
  private static func effect(_ number: Int) -> JSONValue {
    [
      "id": .string("e\(number)"), "key": .string("\(number)-s"), "sink": "mail", "plugin": "p", "subject": "s",
      "type": "welcome", "at": "2025-11-10T12:00:00.000Z", "age_s": 90, "status": "failed", "tries": 2,
      "error": "the receiver answered 400", "body": "no such address", "data": ["n": .integer(Int64(number))],
    ]
  }

  /// A daemon that has given up three effects of the sink `mail`, two a page.
  private static func daemon() throws -> FakeDaemon {
    try FakeDaemon { request in
      switch request.method {
      case "effects":
        let start = request.params["after"]?.stringValue.flatMap { Int($0) } ?? 0
        var page: JSONObject = ["effects": .array((start..<3).prefix(2).map { effect($0) })]
        if start == 0 { page["next"] = "2" }
        return [request.result(.object(page))]
      case "effect": return [request.result(effect(7))]
      case "drop_effects":
        return [request.result(["dropped": .integer(Int64(request.params["keys"]?.arrayValue?.count ?? 0))])]
      default: return [request.result(["resent": 3])]
      }
    }
  }

  private static let dropAll = ["effects", "drop", "--failed", "--sink", "mail"]

  @Test(arguments: [("y\n", ExitCode.done), ("yes\n", .done), ("n\n", .no), ("\n", .no), ("", .no)])
  func `a person is asked before effects are dropped`(_ typed: String, _ exit: ExitCode) throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run(words: Self.dropAll, on: daemon, input: typed, terminal: true)
    #expect(run.exit == exit)
    #expect(run.errors.hasPrefix("drop all effects that were given up for the sink 'mail'?"))
    #expect(run.errors.hasSuffix("nothing was dropped\n") == (exit == .no))
    #expect(daemon.requests.contains { $0.method == "drop_effects" } == (exit == .done))
    #expect(run.output == (exit == .done ? "3 effects dropped\n" : ""))
  }

  @Test func `the question names one effect, and --yes answers it`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let asked = Run("effects", "drop", "e7", on: daemon, input: "n\n", terminal: true)
    #expect(asked.exit == .no && asked.errors.hasPrefix("drop this effect?"))
    let sure = Run("effects", "drop", "e7", "--yes", on: daemon, terminal: true)
    #expect(sure.exit == .done && sure.output == "1 effect dropped\n" && sure.errors.isEmpty)
  }

  @Test func `effects are in the file before they are dropped`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let folder = TemporaryFolder()
    let run = Run(words: Self.dropAll + ["--to", folder("dropped")], on: daemon)
    #expect(run.exit == .done && run.output == "3 effects dropped\n")
    let lines = folder.read("dropped").split(separator: "\n").map { String($0) }
    #expect(lines == (0..<3).map { Self.effect($0).text })
    #expect(daemon.requests.map(\.method) == ["effects", "drop_effects", "effects", "drop_effects"])
    let before = daemon.requests.count
    let refused = Run(words: Self.dropAll + ["--to", folder("none/dropped")], on: daemon)
    #expect(refused.exit == .failed && !daemon.requests[before...].contains { $0.method == "drop_effects" })
  }

  @Test func `on a terminal the list tells the receiver's answer`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("effects", "--failed", on: daemon, terminal: true)
    #expect(run.exit == .done && run.output.contains("the receiver answered 400: no such address"))
    #expect(run.output.contains("1m 30s"))
  }

  @Test(arguments: [
    (["effects", "drop"], "say which: an ID"), (["effects", "drop", "e1", "--failed", "--sink", "s"], "not both"),
    (["effects", "resend", "--failed"], "--failed --sink SINK"),
    (["effects", "--to", "f"], "belongs to 'effects drop'"),
    (["effects", "resned", "e1"], "did you mean 'resend'?"), (["effects", "--failed", "--waiting"], "not both"),
    (["effects", "drop", "--waiting"], "belongs to the list"),
  ])
  func `unclear arguments are refused, and the daemon is not asked`(_ words: [String], _ message: String) throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run(words: words, on: daemon, terminal: true)
    #expect(run.exit == .failed && run.errors.contains(message), "\(run.errors)")
    #expect(daemon.requests.isEmpty)
  }
}
