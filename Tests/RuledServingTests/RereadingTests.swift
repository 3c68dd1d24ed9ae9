import RuledCore
import RuledJSON
import Testing

@testable import RuledServing

@Suite struct RereadingTests {
  /// A change of each key of the configuration; true if SIGHUP takes it.
  private static let changes: [(key: String, text: String, isTaken: Bool)] = [
    ("socket", #""/x""#, false), ("rules", #""/x""#, false), ("store", #""memory:""#, false),
    ("durability", #""interval""#, false), ("workers", "3", false), ("delivery", #""courier""#, false),
    ("http", #"{"sites":"127.0.0.1:1"}"#, false), ("journal", #"{"keep":"0"}"#, false),
    ("limits.request_bytes", "9", false), ("limits.connections", "9", false), ("limits.in_flight", "9", false),
    ("limits.reserved", "9", false), ("limits.idle_s", "9", false), ("limits.cache_mib", "9", false),
    ("limits.shadow_s", "9", false), ("limits.state_kib", "9", true), ("limits.counters", "9", true),
    ("limits.timer_step", "9", true), ("journal", #"{"max_gib":9}"#, true), ("admins", #"["x"]"#, true),
    ("couriers", #"["x"]"#, true), ("dedup", #"{"window":"1h"}"#, true), ("metrics", #"{"series":9}"#, true),
    ("plugins", #"{"x":{"enabled":false}}"#, true), ("sinks", #"{"x":{"log":true}}"#, true),
  ]

  @Test(arguments: changes) func `a changed key is taken, or named as one that takes a restart`(
    _ key: String, _ text: String, _ isTaken: Bool
  ) throws {
    let names = key.split(separator: ".")
    let member = names.count == 1 ? text : #"{"\#(names[1])":\#(text)}"#
    let next = try Configuration.decode(JSONValue(parsing: #"{"\#(names[0])":\#(member)}"#)).get()
    var configuration = Configuration()
    let log = RecordingLog()
    configuration.logRereading(of: next, to: log)
    #expect(
      log.lines.map(\.message)
        == (isTaken ? [] : ["the configuration changes \(key), which takes a restart"])
        + ["the configuration was read again"])
    configuration.adopt(next)
    #expect((configuration == next) == isTaken)
  }

  @Test func `a member of the configuration that nobody thought of is named, too`() {
    var next = Configuration()
    next.file = "/x"
    next.cluster.lease = 7
    let log = RecordingLog()
    Configuration().logRereading(of: next, to: log)
    #expect(log.lines.first?.message == "the configuration changes cluster, file, which takes a restart")
  }
}
