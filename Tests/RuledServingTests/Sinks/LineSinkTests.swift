import Glibc
import RuledEngine
import RuledJSON
import RuledStore
import TestSupport
import Testing

@testable import RuledCore
@testable import RuledDelivery
@testable import RuledServing

@Suite(.serialized) struct LineSinkTests {
  private let folder = TemporaryFolder()

  private func read(_ name: String) -> String {
    guard let file = fopen(folder(name), "r") else { return "" }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `effects are appended as lines, those of a subject in the order in which they were emitted`() throws {
    let rig = try DeliveryRig(sinks: ["out": .file(folder("out"))])
    for n in 0..<3_000 { try rig.emit("\(n)", subject: "user:\(n % 7)") }
    #expect(eventually { rig.figures().present.delivered == 3_000 && rig.undelivered.isEmpty })
    rig.stop()
    let lines = read("out").split(separator: "\n")
    #expect(lines.count == 3_000)
    for user in 0..<7 {
      let expected = stride(from: user, to: 3_000, by: 7).map { DeliveryRig.text("\($0)", "user:\(user)") }
      #expect(lines.filter { $0.contains("\"user:\(user)\"") }.map(String.init) == expected)
    }
  }

  @Test func `a file that was rotated is opened again`() throws {
    let rig = try DeliveryRig(sinks: ["out": .file(folder("out"))])
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 })
    folder.move("out", "out.1")
    try rig.emit("b", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 2 })
    rig.stop()
    #expect(read("out.1") == DeliveryRig.text("a", "s") + "\n")
    #expect(read("out") == DeliveryRig.text("b", "s") + "\n")
  }

  @Test func `a torn last line gets its end before the next`() throws {
    folder.write("out", "{\"torn\":")
    let rig = try DeliveryRig(sinks: ["out": .file(folder("out"))])
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    #expect(read("out") == "{\"torn\":\n" + DeliveryRig.text("a", "s") + "\n")
  }

  @Test func `effects wait while the file can't be written`() throws {
    let rig = try DeliveryRig(sinks: ["out": .file(folder("not/there"))])
    try rig.emit("a", subject: "s")
    try rig.emit("b", subject: "s")
    #expect(eventually { rig.figures().present.retried > 1 })
    #expect(rig.undelivered.count == 2)
    let tries = try EffectClient(rig).call("effects", [:])["effects"]?.arrayValue?.map { $0["tries"]?.intValue ?? -1 }
    #expect(tries?.first.map { $0 > 1 } == true && tries?.last == 0, "\(tries ?? [])")
    folder.makeFolder("not")
    #expect(eventually { rig.figures().present.delivered == 2 && rig.undelivered.isEmpty })
    rig.stop()
  }

  @Test func `the log shows an effect without its data and its subject`() throws {
    let rig = try DeliveryRig(sinks: ["out": .logging])
    try rig.emit("e-1", subject: "user:private", data: #"{"email":"a@b.example"}"#)
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    rig.stop()
    let line = try #require(rig.log.lines.first)
    #expect(line.plugin == "p")
    let fields = try JSONValue(parsing: line.fields)
    #expect(fields == .object(["sink": "out", "type": "t", "effect_id": "e-1"]))
    #expect(!rig.log.text.contains("private") && !rig.log.text.contains("a@b.example"))
  }

  @Test func `effects wait until their own lines are read from the log`() throws {
    let rig = try DeliveryRig(sinks: ["out": .logging])
    rig.log.isStuck.store(true, ordering: .relaxed)
    for number in 0..<3 { try rig.emit("e-\(number)", subject: "s") }
    #expect(eventually { rig.figures().present.retried > 1 })
    #expect(rig.undelivered.count == 3 && rig.log.lines.count <= 3)
    let tries = try EffectClient(rig).call("effects", [:])["effects"]?.arrayValue?.map { $0["tries"]?.intValue ?? -1 }
    #expect(tries?.first.map { $0 > 1 } == true && tries?.last == 0, "\(tries ?? [])")
    rig.log.isStuck.store(false, ordering: .relaxed)
    #expect(eventually { rig.undelivered.isEmpty })
    rig.stop()
    #expect(rig.figures().present.delivered == 3)
  }

  @Test func `effects whose lines the log has dropped wait`() throws {
    let rig = try DeliveryRig(sinks: ["out": .logging])
    rig.log.isBroken.store(true, ordering: .relaxed)
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.retried > 0 })
    #expect(rig.undelivered.count == 1)
    rig.log.isBroken.store(false, ordering: .relaxed)
    #expect(eventually { rig.undelivered.isEmpty })
    rig.stop()
    #expect(rig.figures().present.delivered == 1 && rig.log.lines.count == 1)
  }

  @Test func `effects of a sink that is not configured stay, and health says so`() throws {
    let rig = try DeliveryRig(sinks: ["other": .logging, "out": Configuration.Sink()])
    for n in 0..<10 { try rig.emit("\(n)", subject: "user:\(n)") }
    try rig.emit("x", subject: "user:1", sink: "other")
    #expect(eventually { rig.figures("other").present.delivered == 1 && rig.figures().present.waiting == 10 })
    let health = HealthReport(rig.services).json
    rig.stop()
    #expect(rig.undelivered.count == 10)
    #expect(health["unconfigured_sinks"] == .array(["out"]))
    #expect(health["sinks"]?["out"]?["waiting"] == 10)
  }

  @Test func `a reload uses another configuration`() throws {
    let rig = try DeliveryRig(sinks: [:])
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.waiting == 1 })
    rig.services.outbox.mailbox.send(.reload(["out": .file(folder("out"))]))
    #expect(eventually { rig.figures().present.delivered == 1 && rig.figures().present.waiting == 0 })
    rig.stop()
    #expect(read("out") == DeliveryRig.text("a", "s") + "\n")
  }

  @Test func `more effects than a queue holds are delivered in order, while others arrive`() throws {
    let store = MemoryStore()
    let count = 2 * DeliveryQueue.capacity + 500
    for n in 0..<count {
      let key = EffectKey(subject: Array("user:\(n % 50)".utf8), sequence: UInt64(n + 1))
      try DeliveryRig.put(key, "\(n)", sink: n % 3 == 0 ? "nowhere" : "out", into: store)
    }
    let rig = try DeliveryRig(store: store, sinks: ["out": .file(folder("out"))])
    for n in count..<count + 500 { try rig.emit("\(n)", subject: "user:\(n % 50)") }
    let expected = (0..<count + 500).filter { $0 >= count || $0 % 3 != 0 }
    #expect(
      eventually {
        rig.figures().present.delivered >= expected.count && rig.undelivered.count == count + 500 - expected.count
      })
    rig.stop()
    #expect(rig.figures().present.delivered == expected.count)
    var bySubject: [Int: [Int]] = [:]
    for line in read("out").split(separator: "\n") {
      let n = try #require(try JSONValue(parsing: String(line))["id"]?.stringValue.flatMap { Int($0) })
      bySubject[n % 50, default: []].append(n)
    }
    #expect(bySubject.values.reduce(0) { $0 + $1.count } == expected.count)
    for (subject, order) in bySubject { #expect(order == expected.filter { $0 % 50 == subject }) }
  }
}
