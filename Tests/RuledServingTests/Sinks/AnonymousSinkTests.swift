import RuledEngine
import RuledStore
import TestSupport
import Testing

@testable import RuledCore
@testable import RuledServing

/// Effects that leave without their subject.
@Suite(.serialized) struct AnonymousSinkTests {
  private static let root = String(#filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 })
  private let folder = TemporaryFolder()

  private func lines(_ name: String = "out") -> [JSONValue] {
    folder.read(name).split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
  }

  @Test func `a line has neither the subject nor the id, and the same id in each try and after a restart`() throws {
    let store = MemoryStore()
    for _ in 0..<2 {
      let rig = try DeliveryRig(
        store: store, sinks: ["out": .file(folder("out"))], plugin: #"sink "out" { anonymous = true }"#)
      try rig.emit("user:private/1", subject: "user:private", data: #"{"n":1}"#)
      #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
      rig.stop()
    }
    #expect(lines().count == 2 && lines()[0] == lines()[1])
    #expect(lines()[0].objectValue?.names == ["id", "plugin", "sink", "type", "data", "at"])
    #expect(lines()[0]["id"]?.stringValue?.utf8.count == 64)
    #expect(!folder.read("out").contains("private"))
  }

  @Test func `another store gives another id, so that nobody finds the id by trying subjects`() throws {
    for name in ["a", "b"] {
      let rig = try DeliveryRig(sinks: ["out": .file(folder(name))], plugin: #"sink "out" { anonymous = true }"#)
      try rig.emit("e", subject: "s")
      #expect(eventually { rig.figures().present.delivered == 1 })
      rig.stop()
    }
    #expect(lines("a")[0]["id"] != lines("b")[0]["id"])
  }

  @Test(arguments: [(true, "sink 'out' { anonymous = false }"), (false, "sink 'out' { anonymous = true }")])
  func `the configuration has the last word`(_ anonymous: Bool, _ plugin: String) throws {
    var sink = Configuration.Sink.file(folder("out"))
    sink.anonymous = anonymous
    let rig = try DeliveryRig(sinks: ["out": sink], plugin: plugin)
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    #expect(lines()[0]["subject"] == (anonymous ? nil : "s"))
    #expect((lines()[0]["id"] == "e") == !anonymous)
  }

  @Test func `a handler and the headers know the anonymous id alone`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let plugin = """
      sink "out" {
        anonymous = true,
        run = function(effect) return { body = json.encode({ effect.subject or "nobody", effect.id }) } end,
      }
      """
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url("/"))], plugin: plugin)
    try rig.emit("user:private/1", subject: "user:private")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    let request = try #require(receiver.requests.first), key = try #require(request.headers["idempotency-key"])
    #expect(request.body == #"["nobody","\#(key)"]"# && key.utf8.count == 64)
  }

  @Test func `a lease and a line of the log tell nothing of the subject`() throws {
    let declared = #"sink "out" { anonymous = true } sink "other" { anonymous = true }"#
    let rig = try DeliveryRig(sinks: ["out": .leased, "other": .logging], plugin: declared)
    defer { rig.stop() }
    try rig.emit("e", subject: "user:private")
    try rig.emit("e", subject: "user:private", sink: "other")
    #expect(eventually { rig.figures().present.waiting == 1 && rig.figures("other").present.delivered == 1 })
    let effect = try EffectClient(rig).call("lease", ["sink": "out"])["leases"]?[0]?["effect"]
    #expect(effect?["subject"] == nil && effect?["id"]?.stringValue?.utf8.count == 64)
    let line = try #require(rig.log.lines.first { $0.message == "effect" })
    #expect(line.subjectHash == nil && !line.fields.contains(#""e""#))
  }

  @Test func `reports of the shipped analytics have no subject, whichever plugin makes them`() throws {
    let rig = try DeliveryRig(
      sinks: ["analytics": .file(folder("out"))],
      rules: try RulesFolder.read(Self.root + "/rules") { ["analytics", "deeplinks"].contains($0) })
    let subject = "device:ada@example.org"
    rig.event(#"{"type":"settings.analytics_toggled","subject":"\#(subject)","id":"1","data":{"enabled":true}}"#)
    rig.event(
      #"{"type":"link.opened","subject":"\#(subject)","id":"2","data":{"url":"https://app.respirelyf.com/?utm_source=a"}}"#
    )
    let areBothThere = eventually {
      Set(lines().compactMap { $0["plugin"]?.stringValue }) == ["analytics", "deeplinks"] && rig.undelivered.isEmpty
    }
    #expect(areBothThere)
    rig.stop()
    #expect(lines().allSatisfy { $0["subject"] == nil } && !folder.read("out").contains("ada@example.org"))
  }
}
