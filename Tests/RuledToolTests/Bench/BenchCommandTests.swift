import Glibc
import RuledCore
import RuledJSON
import RuledTool
import Testing

/// `rulectl bench`, against a daemon that answers by a script.
struct BenchCommandTests {
  private static let outcome: JSONValue = ["duplicate": false, "effects": [], "failures": []]

  private static let fiveSubjects: Set<String> = ["bench:0", "bench:1", "bench:2", "bench:3", "bench:4"]

  private static func figures(_ run: Run) throws -> JSONValue { try JSONValue(parsing: run.output) }

  @Test func `Every request is answered and counted, each under an id of its own`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run(
      "bench", "--connections", "1", "--pipeline", "4", "--seconds", "0.3", "--subjects", "5", "--type", "a.b",
      "--data", "{\"n\": 1}", "--json", on: daemon)
    #expect(run.exit == .done)
    let figures = try Self.figures(run)
    let sent = try #require(figures["sent"]?.intValue)
    #expect(sent > 0 && figures["answered"]?.intValue == sent && figures["missing"] == 0)
    #expect((figures["p50_us"]?.doubleValue ?? 0) > 0)
    let events = daemon.requests.map(\.params)
    #expect(Int64(events.count) == sent)
    let ids = Set(events.compactMap { $0["id"]?.stringValue })
    #expect(ids.count == events.count)
    let subjects = Set(events.compactMap { $0["subject"]?.stringValue })
    #expect(subjects.isSubset(of: Self.fiveSubjects))
    #expect(events.allSatisfy { $0["type"] == "a.b" && $0["data"] == ["n": 1] })
  }

  @Test func `At a rate, as many are sent as are due`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "-p", "8", "--rate", "200", "--seconds", "0.5", "--json", on: daemon)
    #expect(run.exit == .done)
    #expect(try Self.figures(run)["sent"] == 100)
  }

  @Test func `At a rate, the wait for a slow reply is charged to what was due meanwhile`() throws {
    let daemon = try FakeDaemon { request in
      let isFirst = request.params["id"]?.stringValue?.hasSuffix("-0") ?? false
      if isFirst { usleep(400_000) }
      return [request.result(Self.outcome)]
    }
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "-p", "1", "--rate", "100", "--seconds", "0.4", "--json", on: daemon)
    let figures = try Self.figures(run)
    #expect(figures["sent"] == 40)
    #expect((figures["p50_us"]?.doubleValue ?? 0) > 100_000)
  }

  @Test func `Refusals are counted by code and end with no`() throws {
    let daemon = try FakeDaemon(error: RequestError(.overloaded, "too many requests in flight"))
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--rate", "50", "--seconds", "0.1", on: daemon)
    #expect(run.exit == .no)
    #expect(run.output.hasSuffix("\n5 refused: overloaded\n  the first one: too many requests in flight\n"))
  }

  @Test func `Events that a plugin failed on are told`() throws {
    let daemon = try FakeDaemon(result: ["failures": [["plugin": "p"]]])
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--rate", "10", "--seconds", "0.1", on: daemon)
    #expect(run.exit == .no)
    #expect(run.output.hasSuffix("\na plugin failed on 1 event; 'rulectl parked' lists them\n"))
  }

  @Test func `The text shows throughput, quantiles and a histogram`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--seconds", "0.1", on: daemon)
    #expect(run.exit == .done)
    #expect(run.output.contains("/s  ("))
    #expect(run.output.contains("latency from sending: p50 "))
    #expect(run.output.contains(" %  #"))
    let offered = Run("bench", "-c", "1", "--rate", "50", "--seconds", "0.1", on: daemon)
    #expect(offered.output.contains("latency from the time each was due: p50 "))
  }

  @Test(arguments: [
    (["--rate", "0"], "--rate takes a number from 0.1 to 10000000, not '0'"),
    (["--seconds", "x"], "--seconds takes a number from 0.1 to 86400, not 'x'"),
    (["--connections", "0"], "--connections takes a whole number from 1 to 1000, not '0'"),
  ])
  func `What makes no sense is refused`(words: [String], message: String) {
    let run = Run("bench", words[0], words[1])
    #expect(run.exit == .failed)
    #expect(run.errors == "rulectl: \(message)\n")
  }

  @Test func `Data that is no JSON is refused`() {
    #expect(Run("bench", "--data", "{").errors.hasPrefix("rulectl: --data is not JSON: "))
  }

  @Test func `A daemon that goes away ends it with a word`() throws {
    let daemon = try FakeDaemon { _ in nil }
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--seconds", "5", on: daemon)
    #expect(run.exit == .failed)
    #expect(run.errors.hasPrefix("rulectl: the daemon closed a connection"))
  }
}
