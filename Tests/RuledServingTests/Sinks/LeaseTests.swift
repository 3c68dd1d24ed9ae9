import Glibc
import RuledCore
import RuledEngine
import RuledJSON
import TestSupport
import Testing

@testable import RuledServing

/// Effects that others deliver, over a real connection.
@Suite(.serialized) struct LeaseTests {
  private func ids(_ leased: JSONValue) -> [String] {
    (leased["leases"]?.arrayValue ?? []).map { $0["effect"]?["id"]?.stringValue ?? "?" }
  }

  private func names(_ leased: JSONValue) -> [JSONValue] {
    (leased["leases"]?.arrayValue ?? []).map { $0["lease"] ?? .null }
  }

  private func confirmation(_ leases: [JSONValue], _ result: String, _ more: JSONObject = [:]) -> JSONObject {
    let results = leases.map { lease in
      JSONValue.object(JSONObject([("lease", lease), ("result", .string(result))] + more.members))
    }
    return ["leases": .array(results)]
  }

  @Test func `an effect has one leaser, and leaves the store once it is confirmed`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    let client = EffectClient(rig)
    for subject in ["a", "b", "c"] { try rig.emit("e-\(subject)", subject: subject, data: #"{"n":1}"#) }
    #expect(eventually { rig.figures().present.waiting == 3 })
    let first = try client.call("lease", ["sink": "out", "limit": 2])
    let second = try client.call("lease", ["sink": "out"])
    #expect(Set(ids(first) + ids(second)) == ["e-a", "e-b", "e-c"] && ids(first).count == 2)
    #expect(try ids(client.call("lease", ["sink": "out"])).isEmpty)
    let effect = second["leases"]?[0]?["effect"]
    #expect(effect?["data"] == .object(["n": 1]) && effect?["sink"] == "out" && effect?["plugin"] == "p")
    let reply = try client.call("confirm", confirmation(names(first) + ["nobody's"], "delivered"))
    #expect(reply["confirmed"] == 2 && reply["unknown"] == .array(["nobody's"]))
    #expect(rig.undelivered.count == 1 && rig.figures().present.delivered == 2)
    #expect(try client.call("confirm", confirmation(names(first), "delivered"))["confirmed"] == 0)
  }

  @Test func `the effects of a subject are leased one after the other`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    let client = EffectClient(rig)
    for id in ["1", "2", "3"] { try rig.emit(id, subject: "s") }
    #expect(eventually { rig.figures().present.waiting == 3 })
    for id in ["1", "2", "3"] {
      let leased = try client.call("lease", ["sink": "out"])
      #expect(ids(leased) == [id])
      _ = try client.call("confirm", confirmation(names(leased), "delivered"))
    }
    #expect(rig.undelivered.isEmpty)
  }

  @Test func `a failed effect is leased again, not before the time that its leaser asked for, and with its tries`()
    throws
  {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    let client = EffectClient(rig)
    try rig.emit("a", subject: "s")
    let leased = try client.call("lease", ["sink": "out", "wait": 10])
    #expect(leased["leases"]?[0]?["tries"] == 0)
    #expect(try client.call("effect", ["id": "a"])["under_way"] == true)
    let more: JSONObject = ["error": "the queue is full", "retry_after_s": 3600, "status": 507, "body": "no room"]
    _ = try client.call("confirm", confirmation(names(leased), "retry", more))
    let listed = try client.call("effect", ["id": "a"])
    #expect(listed["error"] == "the queue is full" && listed["http_status"] == 507 && listed["body"] == "no room")
    #expect(listed["next_try"] != nil && listed["tries"] == 1)
    #expect(try ids(client.call("lease", ["sink": "out"])).isEmpty)
    #expect(try client.call("resend", ["id": "a"])["resent"] == 1, "its wait ends")
    let again = try client.call("lease", ["sink": "out", "wait": 10])
    #expect(again["leases"]?[0]?["tries"] == 1)
    _ = try client.call("confirm", confirmation(names(again), "give_up", ["error": "no such user"]))
    #expect(eventually { rig.undelivered.first?.contains("no such user") == true })
    #expect(try client.call("effects", ["status": "failed"])["effects"]?[0]?["tries"] == 2)
  }

  @Test func `a lease that is not confirmed in time ends, and the effect is leased again`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    let client = EffectClient(rig)
    try rig.emit("a", subject: "s")
    let leased = try client.call("lease", ["sink": "out", "seconds": 1, "wait": 10])
    let again = try client.call("lease", ["sink": "out", "wait": 30])
    #expect(ids(again) == ["a"] && names(again) != names(leased))
    #expect(try client.call("confirm", confirmation(names(leased), "delivered"))["confirmed"] == 0)
    #expect(rig.log.text.contains("ended without a confirmation"))
  }

  @Test func `a lease waits for a first effect, and a client that has ended its side gets none`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    let gone = EffectClient(rig)
    gone.send("lease", ["sink": "out", "wait": 60])
    gone.endWriting()
    #expect(try ids(gone.receive()).isEmpty)
    let client = EffectClient(rig)
    client.send("lease", ["sink": "out", "wait": 60])
    try rig.emit("a", subject: "s")
    #expect(try ids(client.receive()) == ["a"])
    client.send("lease", ["sink": "out", "wait": 60])
    rig.services.outbox.mailbox.send(.endAllWaits)
    #expect(try ids(client.receive()).isEmpty)
  }

  @Test func `a plugin's handler makes the request that is leased, and may let an effect expire`() throws {
    let plugin = """
      sink "out" (function(effect)
        if effect.id == "old" then return nil, "too old" end
        return { url = "https://x.example/" .. effect.id, headers = { ["x-a"] = "b" }, body = "made" }
      end)
      """
    let rig = try DeliveryRig(sinks: ["out": .leased], plugin: plugin)
    defer { rig.stop() }
    try rig.emit("old", subject: "s")
    try rig.emit("new", subject: "s")
    let leased = try EffectClient(rig).call("lease", ["sink": "out", "wait": 10])
    let request: JSONValue = .object([
      "method": "POST", "url": "https://x.example/new", "headers": .object(["x-a": "b"]), "body": "made",
    ])
    #expect(ids(leased) == ["new"] && leased["leases"]?[0]?["request"] == request)
    #expect(rig.figures().present.expired == 1)
  }

  @Test func `sinks that the daemon delivers to are not leased, unless a courier delivers`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let sinks: [String: Configuration.Sink] = ["out": .posting(receiver.url()), "log": .logging]
    let own = try DeliveryRig(sinks: sinks)
    for (name, part) in [("out", "courier"), ("log", "itself"), ("none", "lease = true")] {
      let error = try EffectClient(own).call("lease", ["sink": .string(name)], fails: true)
      #expect(error["message"]?.stringValue?.contains(part) == true)
    }
    own.stop()
    let others = try DeliveryRig(sinks: sinks, delivery: .courier)
    defer { others.stop() }
    try others.emit("a", subject: "s")
    let leased = try EffectClient(others).call("lease", ["sinks": ["out"], "wait": 10])
    #expect(ids(leased) == ["a"] && receiver.requests.isEmpty)
  }

  @Test func `effects that are held back since a restore are not leased`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    rig.services.effectsAreHeld.store(true, ordering: .releasing)
    try rig.emit("a", subject: "s")
    let client = EffectClient(rig)
    #expect(try ids(client.call("lease", ["sink": "out", "wait": 1])).isEmpty)
    rig.services.effectsAreHeld.store(false, ordering: .releasing)
    #expect(try ids(client.call("lease", ["sink": "out", "wait": 10])) == ["a"])
  }

  @Test func `effects that nobody leases make the daemon degraded after five minutes`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    func status() -> String? {
      let late = EngineClock.monotonic + 301 * 1_000_000_000
      return HealthReport(rig.services, monotonic: late).json["status"]?.stringValue
    }
    #expect(status() == "ready")
    try rig.emit("a", subject: "s")
    #expect(eventually { status() == "degraded" })
    let client = EffectClient(rig)
    let leased = try client.call("lease", ["sink": "out"])
    #expect(eventually { status() == "ready" })
    _ = try client.call("confirm", confirmation(names(leased), "delivered"))
    #expect(eventually { status() == "ready" && rig.undelivered.isEmpty })
  }

  @Test func `1,000 effects are leased at most, and 1 MiB of them`() throws {
    let rig = try DeliveryRig(sinks: ["out": .leased])
    defer { rig.stop() }
    let data = "\"" + String(repeating: "x", count: 100_000) + "\""
    for number in 0..<20 { try rig.emit("e\(number)", subject: "s\(number)", data: data) }
    #expect(eventually { rig.figures().present.waiting == 20 })
    let client = EffectClient(rig)
    #expect(try ids(client.call("lease", ["sink": "out", "limit": 1_000])).count == 11)
    #expect(try client.call("lease", ["sink": "out", "limit": 1_001], fails: true)["data"]?["path"] == "params.limit")
  }
}
