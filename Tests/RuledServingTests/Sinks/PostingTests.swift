import Glibc
import IOTestSupport
import RuledCore
import RuledDelivery
import RuledEngine
import RuledJSON
import RuledStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

@Suite(.serialized) struct PostingTests {
  @Test func `a handler gets data as deep as a rule may emit`() throws {
    let rig = try DeliveryRig(
      sinks: ["out": .posting("http://127.0.0.1:9/")], plugin: #"sink "out" (function() return nil, "seen" end)"#)
    let (open, close) = (String(repeating: "[", count: 64), String(repeating: "]", count: 64))
    try rig.emit("a", subject: "s", data: open + close)
    #expect(eventually { rig.undelivered.isEmpty })
    rig.stop()
  }

  @Test func `an effect without a handler is posted as its JSON, with its id as the idempotency key`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url("/in?x=1"))])
    try rig.emit("e-1", subject: "user:1", data: #"{"a":[1,null]}"#)
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    rig.stop()
    let request = try #require(receiver.requests.first)
    #expect(receiver.requests.count == 1)
    #expect(request.method == "POST")
    #expect(request.path == "/in?x=1")
    #expect(request.body == DeliveryRig.text("e-1", "user:1", data: #"{"a":[1,null]}"#))
    #expect(request.headers["content-type"] == "application/json")
    #expect(request.headers["idempotency-key"] == "e-1")
    #expect(request.headers["authorization"] == nil)
    #expect(rig.figures().present.waiting == 0)
  }

  @Test func `a handler makes the request`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let plugin = """
      sink "out" (function(effect)
        return { url = "\(receiver.url("/made"))", method = "put",
          headers = { ["content-type"] = "text/plain", ["x-type"] = effect.type, ["idempotency-key"] = "mine" },
          body = effect.subject .. " " .. effect.data.n }
      end)
      """
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url("/configured"))], plugin: plugin)
    try rig.emit("e 1", subject: "user:1", data: #"{"n":7}"#)
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    let request = try #require(receiver.requests.first)
    #expect(request.method == "PUT")
    #expect(request.path == "/made")
    #expect(request.body == "user:1 7")
    #expect(request.headers["content-type"] == "text/plain")
    #expect(request.headers["x-type"] == "t")
    #expect(request.headers["idempotency-key"] == "e%201")
  }

  @Test func `a handler without a URL posts to the configured one`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(
      sinks: ["out": .posting(receiver.url("/configured"))],
      plugin: #"sink "out" (function(effect) return { body = "x" } end)"#)
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    #expect(receiver.requests.map(\.path) == ["/configured"])
    #expect(receiver.requests.map(\.body) == ["x"])
  }

  @Test func `an event's effect is delivered once its commit is durable`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(
      sinks: ["out": .posting(receiver.url())],
      plugin: #"rule "r" { on = "a", run = function(event) emit("out", "told", { n = event.data.n }) end }"#)
    let outcome = rig.event(#"{"type":"a","subject":"user:1","id":"1","data":{"n":5}}"#)
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    rig.stop()
    let posted = try JSONValue(parsing: try #require(receiver.requests.first).body)
    #expect(posted["id"] == outcome["effects"]?[0]?["id"])
    #expect(posted["subject"]?.stringValue == "user:1")
    #expect(posted["data"] == .object(["n": 5]))
  }

  @Test func `an answer of 500 is followed by another try under the same id`() throws {
    let receiver = try Receiver { index, _ in .init(status: index < 2 ? 500 : 204) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(receiver.requests.map { $0.headers["idempotency-key"] } == ["e", "e", "e"])
    #expect(rig.figures().present.retried == 2)
  }

  @Test func `Retry-After holds the sink back`() throws {
    let times = Mutex<[UInt64]>([])
    let receiver = try Receiver { index, _ in
      times.withLock { $0.append(EngineClock.monotonic) }
      return index == 0 ? .init(status: 429, headers: ["Retry-After: 1"]) : .init()
    }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    let (first, second) = times.withLock { ($0[0], $0[1]) }
    #expect(second - first >= 990_000_000)
  }

  @Test func `a refused effect is given up, kept as failed, and tried again after the next start`()
    throws
  {
    let refusing = try Receiver { _, _ in .init(status: 400) }
    let store = MemoryStore()
    let first = try DeliveryRig(store: store, sinks: ["out": .posting(refusing.url())])
    try first.emit("bad", subject: "s", data: #"{"a":1}"#)
    #expect(
      eventually { first.figures().present.failed == 1 && first.undelivered.first?.hasPrefix(#"{"failed""#) == true })
    first.services.outbox.mailbox.send(.scanStore)
    try first.emit("bad too", subject: "s")
    #expect(
      eventually { first.figures().present.failed == 2 && first.undelivered.allSatisfy { $0.hasPrefix(#"{"failed""#) } }
    )
    first.stop()
    refusing.close()
    #expect(refusing.requests.count == 2)
    let kept = try JSONValue(parsing: first.undelivered[0])
    #expect(kept["failed"]?["why"]?.stringValue == "the receiver answered 400")
    #expect(kept["failed"]?["tries"] == 1)
    #expect(kept["data"] == .object(["a": 1]))

    let taking = try Receiver()
    defer { taking.close() }
    let second = try DeliveryRig(store: store, sinks: ["out": .posting(taking.url())])
    #expect(eventually { second.figures().present.delivered == 2 && second.undelivered.isEmpty })
    second.stop()
    #expect(taking.requests.first?.body == DeliveryRig.text("bad", "s", data: #"{"a":1}"#))
  }

  @Test func `a redirect is not followed`() throws {
    let other = try Receiver()
    let receiver = try Receiver { _, _ in .init(status: 302, headers: ["Location: \(other.url())"]) }
    defer {
      receiver.close()
      other.close()
    }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.failed == 1 })
    rig.stop()
    #expect(other.requests.isEmpty)
  }

  @Test func `a URL of another scheme is given up`() throws {
    let rig = try DeliveryRig(
      sinks: ["out": .posting("http://127.0.0.1:1/")],
      plugin: #"sink "out" (function() return { url = "file:///etc/passwd" } end)"#)
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.failed == 1 })
    rig.stop()
  }

  @Test func `nil and a reason let the effect expire`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(
      sinks: ["out": .posting(receiver.url())], plugin: #"sink "out" (function() return nil, "older than 7 days" end)"#)
    try rig.emit("e", subject: "s")
    #expect(eventually { rig.figures().present.expired == 1 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(receiver.requests.isEmpty)
    #expect(rig.log.text.contains("older than 7 days"))
  }

  @Test func `the effects of a failing handler wait, and those of other sinks are delivered`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(
      sinks: ["out": .posting(receiver.url("/out")), "other": .posting(receiver.url("/other"))],
      plugin: #"sink "out" (function(effect) error("no: " .. effect.data.secret) end)"#)
    try rig.emit("a", subject: "s", data: #"{"secret":"hush"}"#)
    try rig.emit("b", subject: "s", sink: "other")
    #expect(eventually { rig.figures("other").present.delivered == 1 && rig.figures().present.retried >= 3 })
    rig.stop()
    #expect(receiver.requests.map(\.path) == ["/other"])
    #expect(rig.undelivered.count == 1)
    #expect(rig.log.text.contains("sink handler failed"))
    #expect(!rig.log.text.contains("hush"))
  }

  @Test func `effects of a plugin that is not loaded wait`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    try rig.emit("gone", subject: "s", plugin: "removed")
    try rig.emit("here", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 && rig.figures().present.retried >= 2 })
    rig.stop()
    #expect(receiver.requests.map { $0.headers["idempotency-key"] } == ["here"])
    #expect(rig.undelivered.count == 1)
  }

  @Test func `a subject's effects arrive in order, and different subjects side by side`() throws {
    let receiver = try Receiver { index, _ in .init(status: index % 7 == 3 ? 500 : 200, delay: 5) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())], retryAfter: 1)
    for n in 0..<200 { try rig.emit("\(n)", subject: "user:\(n % 20)") }
    #expect(eventually { rig.figures().present.delivered == 200 && rig.undelivered.isEmpty })
    rig.stop()
    var seen: [Int: [Int]] = [:]
    for request in receiver.requests {
      let n = try #require(request.headers["idempotency-key"].flatMap { Int($0) })
      if seen[n % 20]?.last != n { seen[n % 20, default: []].append(n) }
    }
    for (subject, order) in seen { #expect(order == Array(stride(from: subject, to: 200, by: 20))) }
    let most = receiver.requests.map(\.concurrent).max() ?? 0
    #expect(most > 0 && most < Sink.maximumRequests)
  }

  @Test func `an effect that is forgotten before its delivery is not delivered`() throws {
    let isForgotten = Signal<Bool>()
    let receiver = try Receiver { index, _ in .init(status: index == 0 && isForgotten.wait() ? 500 : 200) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())], retryAfter: 200, timeout: 180_000)
    try rig.emit("e", subject: "s")
    try rig.emit("f", subject: "s")
    #expect(eventually { receiver.requests.count == 1 })
    rig.services.workers[0].send(
      .evaluate { evaluator in
        let name = ByteBuffer()
        name.append(contentsOf: "s")
        _ = try? evaluator.forget(name.bytes)
      })
    #expect(eventually { rig.undelivered.isEmpty })
    isForgotten.set(true)
    try rig.emit("g", subject: "t")
    #expect(eventually { rig.undelivered.isEmpty })
    rig.stop()
    #expect(receiver.requests.map { $0.headers["idempotency-key"] } == ["e", "g"])
  }

  @Test func `a crash between delivery and removal delivers again, under the same id`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let folder = TemporaryFolder()
    let real = try RocksStore(path: folder("store"))
    let faulty = FaultyStore(real)
    try DeliveryRig.put(EffectKey(subject: Array("s".utf8), sequence: 1), "e", into: faulty)
    // The store stays failed, or a slow host would remove the effect before the stop.
    faulty.failCommit(1, thenReopens: .max)
    let first = try DeliveryRig(store: faulty, sinks: ["out": .posting(receiver.url())])
    #expect(eventually { first.figures().present.delivered == 1 })
    first.stop(within: 50)
    try real.close()
    let again = try RocksStore(path: folder("store"))
    let second = try DeliveryRig(store: again, sinks: ["out": .posting(receiver.url())])
    #expect(eventually { second.figures().present.delivered == 1 && second.undelivered.isEmpty })
    second.stop()
    try again.close()
    #expect(receiver.requests.map { $0.headers["idempotency-key"] } == ["e", "e"])
  }

  @Test func `a delivery under way at the end is waited for`() throws {
    let receiver = try Receiver { _, _ in .init(delay: 200) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    try rig.emit("e", subject: "s")
    #expect(eventually { receiver.requests.count == 1 })
    rig.stop()
    #expect(rig.undelivered.isEmpty)
    #expect(rig.figures().present.delivered == 1)
  }

  @Test func `a receiver that is down is tried until it is up again`() throws {
    let receiver = try Receiver(isUp: false)
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    for n in 0..<20 { try rig.emit("\(n)", subject: "user:\(n)") }
    #expect(eventually { rig.figures().present.retried > 0 })
    receiver.start()
    #expect(eventually { rig.figures().present.delivered == 20 })
    rig.stop()
    #expect(receiver.requests.count == 20)
  }
}
