import Glibc
import IOTestSupport
import RuledCore
import RuledDelivery
import RuledEngine
import RuledJSON
import RuledStore
import TestSupport
import Testing

@testable import RuledServing

/// The methods that list, show, resend and drop effects, over a real connection.
@Suite(.serialized) struct EffectMethodsTests {
  private func ids(_ page: JSONValue) -> [String] {
    (page["effects"]?.arrayValue ?? []).map { $0["id"]?.stringValue ?? "?" }
  }

  @Test func `an effect that waits is listed with its tries, its last error and its next try`() throws {
    let receiver = try Receiver { _, _ in .init(status: 503, headers: ["Retry-After: 60"], body: "come back") }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    let client = EffectClient(rig)
    try rig.emit("a", subject: "user:1", data: #"{"n":[1]}"#)
    #expect(eventually { rig.figures().present.retried == 1 })
    let listed = try client.call("effects", [:])["effects"]?[0]
    #expect(listed?["id"] == "a" && listed?["sink"] == "out" && listed?["plugin"] == "p" && listed?["type"] == "t")
    #expect(listed?["subject"] == "user:1" && listed?["status"] == "waiting" && listed?["tries"] == 1)
    #expect(listed?["error"] == "the receiver answered 503" && listed?["http_status"] == 503)
    #expect(listed?["body"] == "come back" && listed?["at"] == "2025-11-10T00:00:00.000Z")
    #expect(listed?["data"] == nil && (listed?["age_s"]?.intValue ?? 0) > 0)
    let next = try #require(listed?["next_try"]?.stringValue.flatMap { Timestamp(rfc3339: $0) })
    #expect(next.microseconds - EngineClock.wall.microseconds > 50_000_000)
    #expect(try client.call("effect", ["id": "a"])["data"] == .object(["n": [1]]))
    #expect(try client.call("effect", ["id": "b"], fails: true)["data"]?["code"] == "not_found")
  }

  @Test(arguments: ["99999999999", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
  func `a receiver can put an effect off for an hour at most`(time: String) throws {
    let receiver = try Receiver { _, _ in .init(status: 503, headers: ["Retry-After: \(time)"]) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.retried == 1 })
    let listed = try EffectClient(rig).call("effects", [:])["effects"]?[0]
    let next = try #require(listed?["next_try"]?.stringValue.flatMap { Timestamp(rfc3339: $0) })
    let wait = next.microseconds - EngineClock.wall.microseconds
    #expect(wait > 3_500_000_000 && wait <= 3_601_000_000)
  }

  @Test func `an answer's body is kept to 300 bytes, without the secret that it repeats`() throws {
    let folder = TemporaryFolder()
    folder.write("token", "TopSecret42")
    let body = "you sent TopSecret42 " + String(repeating: "é", count: 134) + "TopSecret42"
    let receiver = try Receiver { _, _ in .init(status: 400, body: body) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url(), secret: folder("token"))])
    defer { rig.stop() }
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.undelivered.first?.hasPrefix(#"{"failed""#) == true })
    let kept = try EffectClient(rig).call("effects", ["status": "failed"])["effects"]?[0]?["body"]?.stringValue
    #expect(kept == "you sent (secret) " + String(repeating: "é", count: 134) + "(secret)")
    #expect(!rig.undelivered.joined().contains("TopSecret42"))
    #expect(!rig.undelivered.joined().contains("TopSec"))
  }

  @Test func `filters select by sink, plugin, subject, type and status`() throws {
    let receiver = try Receiver { _, request in .init(status: request.body.contains("bad") ? 400 : 503) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())], retryAfter: 60_000)
    defer { rig.stop() }
    let client = EffectClient(rig)
    try rig.emit("bad", subject: "a")
    #expect(eventually { rig.undelivered.first?.hasPrefix(#"{"failed""#) == true })
    try rig.emit("good", subject: "a")
    try rig.emit("other", subject: "ab", plugin: "q", sink: "other")
    #expect(eventually { rig.figures().present.retried > 0 })
    #expect(try ids(client.call("effects", ["status": "failed"])) == ["bad"])
    #expect(try ids(client.call("effects", ["status": "waiting"])) == ["good", "other"])
    #expect(try ids(client.call("effects", ["sink": "other"])) == ["other"])
    #expect(try ids(client.call("effects", ["plugin": "p"])) == ["bad", "good"])
    #expect(try ids(client.call("effects", ["subject": "a"])) == ["bad", "good"])
    #expect(try ids(client.call("effects", ["type": "x"])).isEmpty)
    #expect(try client.call("effects", ["status": "lost"], fails: true)["data"]?["path"] == "params.status")
    #expect(try client.call("effects", ["after": "zz"], fails: true)["data"]?["path"] == "params.after")
  }

  @Test func `given-up effects are resent by id and by sink, and keep their tries over a restart`() throws {
    let store = MemoryStore()
    let refusing = try Receiver { _, _ in .init(status: 400) }
    let first = try DeliveryRig(store: store, sinks: ["out": .posting(refusing.url())])
    for id in ["a", "b", "c"] { try first.emit(id, subject: "s") }
    #expect(eventually { first.undelivered.count { $0.hasPrefix(#"{"failed""#) } == 3 })
    let client = EffectClient(first)
    #expect(try client.call("resend", ["id": "b"])["resent"] == 1)
    #expect(eventually { refusing.requests.count == 4 })
    #expect(
      eventually {
        let effect = try? client.call("effect", ["id": "b"])
        return effect?["status"] == "failed" && effect?["tries"] == 2
      })
    #expect(eventually { HealthReport(first.services).json["sinks"]?["out"]?["given_up"] == 3 })
    let exported = try client.call("export", ["subject": "s"])["effects"]?[0]?["failed"]
    #expect(exported?["status"] == 400 && exported?["tries"] != nil && exported?["after"] == nil)
    #expect(try client.call("resend", ["id": "x"], fails: true)["data"]?["code"] == "not_found")
    #expect(try client.call("resend", ["sink": "out"], fails: true)["data"]?["path"] == "params.status")
    first.stop()
    refusing.close()

    let taking = try Receiver()
    defer { taking.close() }
    let second = try DeliveryRig(store: store, sinks: ["other": .posting(taking.url())])
    let shown = try EffectClient(second).call("effect", ["id": "b"])
    #expect(shown["tries"] == 2 && shown["error"] == "the receiver answered 400" && shown["http_status"] == 400)
    second.stop()

    let third = try DeliveryRig(store: store, sinks: ["out": .posting(taking.url())])
    #expect(eventually { third.figures().present.delivered == 3 && third.undelivered.isEmpty })
    third.stop()
    #expect(taking.requests.compactMap { $0.headers["idempotency-key"] } == ["a", "b", "c"])
  }

  @Test func `all that a sink has given up is resent, and is delivered once each`() throws {
    let receiver = try Receiver { index, _ in .init(status: index < 700 ? 400 : 200) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    for number in 0..<700 { try rig.emit("e\(number)", subject: "s\(number % 50)") }
    #expect(eventually { rig.undelivered.count { $0.hasPrefix(#"{"failed""#) } == 700 })
    #expect(try EffectClient(rig).call("resend", ["sink": "out", "status": "failed"])["resent"] == 700)
    #expect(eventually { rig.figures().present.delivered == 700 && rig.undelivered.isEmpty })
    #expect(receiver.requests.count == 1_400)
    #expect(eventually { rig.figures().present.givenUp == 0 && rig.figures().present.waiting == 0 })
  }

  @Test func `ten thousand effects are resent at once, and each is delivered once`() throws {
    let store = MemoryStore()
    let count = 10_000
    let mark = StoredEffect.Mark(
      at: "2025-11-10T00:00:00.000Z", tries: 1, failure: .init(reason: "refused"), after: UInt64(Int64.max))
    for number in 0..<count {
      let (id, subject) = ("e\(number)", "s\(number % 1_000)")
      let name = ByteBuffer()
      EffectKey(subject: Array(subject.utf8), sequence: UInt64(number + 1)).write(to: name)
      let set = WriteSet()
      let text = StoredEffect.marked(Array(DeliveryRig.text(id, subject).utf8), mark)
      text.withView { set.put(name.bytes, $0) }
      try store.commit(set, durable: true)
    }
    let folder = TemporaryFolder()
    let rig = try DeliveryRig(store: store, sinks: ["out": .file(folder("out"))])
    defer { rig.stop() }
    #expect(eventually { rig.figures().present.givenUp == count })
    #expect(rig.figures().present.delivered == 0)
    let client = EffectClient(rig)
    #expect(try client.call("resend", ["sink": "out", "status": "failed"])["resent"] == .integer(Int64(count)))
    #expect(eventually { rig.figures().present.delivered == count && rig.undelivered.isEmpty })
    let ids = folder.read("out").split(separator: "\n").compactMap { line in
      (try? JSONValue(parsing: String(line)))?["id"]?.stringValue
    }
    #expect(ids.count == count && Set(ids).count == count)
    #expect(eventually { rig.figures().present.givenUp == 0 && rig.figures().present.waiting == 0 })
    #expect(try client.call("resend", ["sink": "out", "status": "failed"])["resent"] == 0)
  }

  @Test func `a resent effect of a subject with later ones is delivered, behind the one that is under way`() throws {
    let isResent = Signal<Bool>()
    let receiver = try Receiver { index, _ in .init(status: index == 0 || index == 1 && !isResent.wait() ? 400 : 200) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())], timeout: 180_000)
    defer { rig.stop() }
    try rig.emit("early", subject: "s")
    #expect(eventually { rig.undelivered.first?.hasPrefix(#"{"failed""#) == true })
    for id in ["b", "c"] { try rig.emit(id, subject: "s") }
    #expect(eventually { receiver.requests.count == 2 })
    #expect(try EffectClient(rig).call("resend", ["id": "early"])["resent"] == 1)
    isResent.set(true)
    #expect(eventually { rig.undelivered.isEmpty })
    #expect(receiver.requests.compactMap { $0.headers["idempotency-key"] } == ["early", "b", "early", "c"])
  }

  @Test func `resending an effect that waits ends its wait`() throws {
    let receiver = try Receiver { index, _ in .init(status: index == 0 ? 503 : 200, headers: ["Retry-After: 600"]) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.retried == 1 })
    #expect(try EffectClient(rig).call("resend", ["id": "a"])["resent"] == 1)
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
  }

  @Test func `dropped effects are gone, and the later ones of their subject are delivered`() throws {
    let receiver = try Receiver { _, request in .init(status: request.body.contains("\"bad\"") ? 503 : 200) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())], retryAfter: 50)
    defer { rig.stop() }
    let client = EffectClient(rig)
    try rig.emit("bad", subject: "s")
    #expect(eventually { rig.figures().present.retried > 0 })
    try rig.emit("good", subject: "s")
    let key = try client.call("effect", ["id": "bad"])["key"] ?? .null
    #expect(try client.call("drop_effects", ["keys": .array([key, "ff-nobody"])])["dropped"] == 1)
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    #expect(try client.call("drop_effects", ["id": "bad"], fails: true)["data"]?["code"] == "not_found")
    #expect(eventually { rig.figures().present.waiting == 0 })
  }

  @Test func `of effects with one id, the subject says which is meant`() throws {
    let rig = try DeliveryRig(sinks: [:])
    defer { rig.stop() }
    let client = EffectClient(rig)
    for subject in ["a", "b"] { try rig.emit("same", subject: subject) }
    #expect(try client.call("effect", ["id": "same"], fails: true)["data"]?["path"] == "params.subject")
    #expect(try client.call("effect", ["id": "same", "subject": "b"])["subject"] == "b")
  }

  @Test func `20,000 waiting effects are listed exactly once each, in bounded memory`() throws {
    let store = MemoryStore()
    let count = 20_000
    let data = #"{"text":"\#(String(repeating: "x", count: 4_000))"}"#
    for number in 0..<count {
      let key = EffectKey(subject: Array("s\(number % 1_000)".utf8), sequence: UInt64(number + 1))
      try DeliveryRig.put(key, "e\(number)", data: data, into: store)
    }
    let before = ProcessMemory.read().resident
    let receiver = try Receiver { _, _ in .init(status: 503, headers: ["Retry-After: 3600"]) }
    defer { receiver.close() }
    let rig = try DeliveryRig(store: store, sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    #expect(eventually { rig.figures().present.waiting == count })
    let client = EffectClient(rig)
    var seen: Set<String> = []
    var params: JSONObject = ["limit": 1_000]
    var pages = 0
    while true {
      let page = try client.call("effects", params)
      let found = ids(page)
      #expect(found.count == 1_000 && seen.isDisjoint(with: found))
      seen.formUnion(found)
      pages += 1
      guard let next = page["next"] else { break }
      params["after"] = next
    }
    #expect(pages == 20 && seen.count == count)
    #expect(try ids(client.call("effects", [:])).count == 100)
    #expect(rig.services.outbox.figures.first?.figures.oldestSeconds(now: EngineClock().now) ?? 0 > 0)
    // The effects themselves, more than 80 MB, stay in the store.
    let growth = ProcessMemory.read().resident - before
    #expect(growth < count * data.utf8.count / 3, "memory grew by \(growth) bytes")
  }

  @Test
  func `health tells the effects given up now, the oldest, the rate, and a sink that has failed for five minutes`()
    throws
  {
    let receiver = try Receiver { index, _ in .init(status: index == 0 ? 200 : index < 3 ? 400 : 200) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    func health(after seconds: UInt64 = 0) -> JSONValue {
      HealthReport(rig.services, monotonic: EngineClock.monotonic + seconds * 1_000_000_000).json
    }
    for id in ["good", "bad", "worse"] { try rig.emit(id, subject: "s") }
    #expect(eventually { rig.undelivered.count { $0.hasPrefix(#"{"failed""#) } == 2 })
    #expect(eventually { health()["sinks"]?["out"]?["given_up"] == 2 })
    let sink = health()["sinks"]?["out"]
    #expect(sink?["oldest_s"] == .null && sink?["waiting"] == 0)
    #expect((sink?["rate"]?.doubleValue ?? 0) > 0)
    #expect(health()["status"] == "ready")
    let late = health(after: 301)
    #expect(late["status"] == "degraded")
    let problem = late["problems"]?[0]?.stringValue ?? ""
    #expect(problem.contains("out has failed for 5 min") && problem.contains("rulectl effects --sink out"))
    #expect(try EffectClient(rig).call("drop_effects", ["sink": "out", "status": "failed"])["dropped"] == 2)
    #expect(eventually { health(after: 301)["status"] == "ready" })
  }
}

/// A client of the one worker of a rig.
final class EffectClient {
  private let client: Client

  init(_ rig: DeliveryRig) {
    let (client, server) = Client.pair()
    self.client = client
    rig.services.adopt(server)
  }

  /// Sends a request; `receive` takes its reply.
  func send(_ method: String, _ params: JSONObject) {
    let request: JSONValue = .object([
      "jsonrpc": "2.0", "id": 1, "method": .string(method), "params": .object(params),
    ])
    client.send(request.text + "\n")
  }

  func endWriting() { client.endWriting() }

  /// The result of the next reply, or its error if it `fails`.
  func receive(fails: Bool = false) throws -> JSONValue {
    let reply = try JSONValue(parsing: client.receive(lines: 1))
    let result = reply[fails ? "error" : "result"]
    if result == nil { Issue.record("\(reply.text)") }
    return result ?? .null
  }

  /// Calls a method; returns its result, or its error if it `fails`.
  func call(_ method: String, _ params: JSONObject, fails: Bool = false) throws -> JSONValue {
    send(method, params)
    return try receive(fails: fails)
  }
}
