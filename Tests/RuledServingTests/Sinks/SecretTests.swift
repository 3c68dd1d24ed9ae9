import Glibc
import RuledCore
import RuledIO
import RuledLua
import TestSupport
import Testing

@testable import RuledDelivery
@testable import RuledServing

@Suite(.serialized) struct SecretTests {
  private let folder = TemporaryFolder()

  @Test func `the secret is sent trimmed, and appears nowhere else`() throws {
    folder.write("token", "  TopSecret42\n")
    let receiver = try Receiver { index, _ in .init(status: [500, 400, 200][index]) }
    defer { receiver.close() }
    let rig = try DeliveryRig(
      sinks: ["out": .posting(receiver.url(), secret: folder("token"))],
      plugin:
        #"sink "out" (function(effect) return { headers = { Authorization = "Bearer mine" }, body = json.encode(effect) } end)"#
    )
    try rig.emit("a", subject: "s")
    try rig.emit("b", subject: "s")
    #expect(eventually { rig.figures().present.failed + rig.figures().present.delivered == 2 })
    #expect(eventually { rig.undelivered.count == 1 && rig.undelivered[0].hasPrefix(#"{"failed""#) })
    let health = HealthReport(rig.services).json.text
    rig.stop()
    #expect(receiver.requests.map { $0.headers["authorization"] } == Array(repeating: "Bearer TopSecret42", count: 3))
    #expect(!receiver.requests.contains { $0.body.contains("TopSecret42") })
    #expect(!(rig.log.text + health + rig.undelivered.joined()).contains("TopSecret42"))
  }

  @Test func `the secret is not sent to another host that the handler names`() throws {
    folder.write("token", "TopSecret42")
    let configured = try Receiver()
    let other = try Receiver()
    defer {
      configured.close()
      other.close()
    }
    let rig = try DeliveryRig(
      sinks: ["out": .posting(configured.url(), secret: folder("token"))],
      plugin: """
        sink "out" (function(effect) return { url = effect.data.url, body = "" } end)
        """)
    try rig.emit("a", subject: "s", data: #"{"url":"\#(other.url())"}"#)
    try rig.emit("b", subject: "s", data: #"{"url":"\#(configured.url("/path"))"}"#)
    #expect(eventually { rig.figures().present.delivered == 2 })
    rig.stop()
    #expect(other.requests.map { $0.headers["authorization"] } == [nil])
    #expect(configured.requests.map { $0.headers["authorization"] } == ["Bearer TopSecret42"])
  }

  @Test func `a refused secret is read again, and its effects wait for a better one`() throws {
    folder.write("token", "old")
    let receiver = try Receiver { _, request in
      .init(status: request.headers["authorization"] == "Bearer new" ? 200 : 401)
    }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url(), secret: folder("token"))])
    try rig.emit("a", subject: "s")
    #expect(eventually { receiver.requests.count >= 2 })
    folder.write("token", "new")
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(rig.figures().present.failed == 0)
  }

  @Test func `without a secret, an answer of 401 gives the effect up`() throws {
    let receiver = try Receiver { _, _ in .init(status: 401) }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.failed == 1 })
    rig.stop()
  }

  @Test func `a host that was not sent the secret has not refused it, and gives the effect up`() throws {
    folder.write("token", "TopSecret42")
    let other = try Receiver { _, _ in .init(status: 403) }
    defer { other.close() }
    let rig = try DeliveryRig(
      sinks: ["out": .posting("https://configured.invalid/", secret: folder("token"))],
      plugin: """
        sink "out" (function(effect) return { url = effect.data.url, body = "" } end)
        """)
    try rig.emit("a", subject: "s", data: #"{"url":"\#(other.url())"}"#)
    #expect(eventually { rig.figures().present.failed == 1 })
    rig.stop()
    #expect(!rig.undelivered.joined().contains(folder("token")))
  }

  @Test func `nothing is sent while the secret can't be read`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url(), secret: folder("missing"))])
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.retried > 0 })
    #expect(receiver.requests.isEmpty)
    folder.write("missing", "there")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    #expect(receiver.requests.map { $0.headers["authorization"] } == ["Bearer there"])
  }

  @Test func `a FIFO, a folder, a device or a huge file holds no secret, token or configuration`() {
    #expect(mkfifo(folder("fifo"), 0o600) == 0)
    folder.makeFolder("folder")
    folder.write("large", "x")
    #expect(truncate(folder("large"), 1 << 30) == 0)
    let reasons = ["fifo": "is a FIFO", "folder": "is a folder", "large": "is larger than"]
    for (name, path) in [
      ("fifo", folder("fifo")), ("folder", folder("folder")), ("large", folder("large")), ("device", "/dev/zero"),
    ] {
      let reason = reasons[name] ?? "is a device"
      #expect(SinkSecret(path: path).read()?.contains(reason) == true)
      do throws(StartError) {
        _ = try BearerToken(file: path)
        Issue.record("\(name) was taken for a token")
      } catch { #expect(error.description.contains(reason)) }
      do throws(ConfigurationFileError) {
        _ = try ConfigurationFile.load(path)
        Issue.record("\(name) was taken for a configuration")
      } catch { #expect(error.description.contains(reason)) }
    }
  }
}
