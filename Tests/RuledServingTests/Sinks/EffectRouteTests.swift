import IOTestSupport
import RuledCore
import RuledEngine
import TestSupport
import Testing

@testable import RuledServing

/// The HTTP routes of the methods about effects, beside a real outbox.
@Suite(.serialized) struct EffectRouteTests {
  /// Serves HTTP for a rig with these sinks while `body` runs.
  private func withRig(_ sinks: [String: Configuration.Sink], _ body: (DeliveryRig, HTTPClient) throws -> Void) throws {
    let rig = try DeliveryRig(sinks: sinks)
    let server = try HTTPServer(rig.services, rig.commits)
    defer {
      server.stop()
      rig.stop()
    }
    let (client, other) = Client.pair()
    rig.services.adopt(other)
    try body(rig, HTTPClient(client))
  }

  private func ids(_ answer: HTTPClient.Response?) -> [String] {
    (answer?.json?["effects"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }

  @Test func `effects are listed, shown, resent and dropped`() throws {
    let receiver = try Receiver { _, _ in .init(status: 400, body: "no") }
    defer { receiver.close() }
    try withRig(["out": .posting(receiver.url())]) { rig, client in
      for id in ["a", "b", "c"] { try rig.emit(id, subject: "user:\(id)") }
      #expect(eventually { ids(client.ask("GET", "/v1/effects?status=failed")) == ["a", "b", "c"] })
      #expect(ids(client.ask("GET", "/v1/effects?subject=user%3Ab&sink=out")) == ["b"])
      #expect(client.ask("GET", "/v1/effects/a?subject=user%3Aa")?.json?["body"] == "no")
      #expect(client.ask("GET", "/v1/effects/a?subject=user%3Ab")?.status == 404)
      #expect(client.ask("POST", "/v1/effects/a/resend", "{}")?.json == ["resent": 1])
      #expect(eventually { receiver.requests.count == 4 })
      #expect(eventually { ids(client.ask("GET", "/v1/effects?status=failed")).count == 3 })
      #expect(client.ask("POST", "/v1/resend", #"{"sink":"out","status":"failed"}"#)?.json == ["resent": 3])
      #expect(eventually { receiver.requests.count == 7 })
      #expect(eventually { ids(client.ask("GET", "/v1/effects?status=failed")).count == 3 })
      #expect(client.ask("DELETE", "/v1/effects/b")?.json == ["dropped": 1])
      #expect(client.ask("DELETE", "/v1/effects/b")?.status == 404)
      #expect(client.ask("POST", "/v1/drop_effects", #"{"sink":"out","status":"failed"}"#)?.json == ["dropped": 2])
      #expect(ids(client.ask("GET", "/v1/effects")) == [] && rig.undelivered.isEmpty)
    }
  }

  @Test func `effects are leased and confirmed`() throws {
    try withRig(["out": .leased]) { rig, client in
      try rig.emit("a", subject: "s")
      let leased = client.ask("POST", "/v1/lease", #"{"sink":"out","seconds":60,"wait":10}"#)?.json?["leases"]
      #expect(leased?[0]?["effect"]?["id"] == "a" && leased?[0]?["tries"] == 0)
      let lease = leased?[0]?["lease"]?.text ?? ""
      let results = #"{"leases":[{"lease":\#(lease),"result":"delivered"},{"lease":"0-none","result":"delivered"}]}"#
      #expect(client.ask("POST", "/v1/confirm", results)?.json == ["confirmed": 1, "unknown": ["0-none"]])
      #expect(eventually { rig.undelivered.isEmpty })
      #expect(client.ask("POST", "/v1/lease", #"{"sink":"out"}"#)?.json == ["leases": []])
    }
  }

  @Test(arguments: [
    ("POST", "/v1/resend", "{}", 400, "params.id"),
    ("POST", "/v1/drop_effects", #"{"sink":"out"}"#, 400, "params.status"),
    ("POST", "/v1/lease", #"{"sink":"out","secnods":1}"#, 400, "params.secnods"),
    ("POST", "/v1/lease", #"{"sink":"other"}"#, 400, "params.sink"),
    ("POST", "/v1/confirm", #"{"leases":[{}]}"#, 400, "params.leases[0].lease"),
    ("GET", "/v1/effects?status=lost", "", 400, "params.status"),
    ("POST", "/v1/effects/none/resend", "{}", 404, ""), ("POST", "/v1/resend", "[]", 400, "params"),
  ])
  func `a wrong parameter is named`(
    _ method: String, _ target: String, _ body: String, _ status: Int, _ path: String
  ) throws {
    try withRig(["out": .leased, "other": .logging]) { _, client in
      let answer = client.ask(method, target, body.isEmpty ? nil : body)
      #expect(answer?.status == status, "\(answer?.body ?? "")")
      #expect(answer?.json?["data"]?["path"]?.stringValue ?? "" == path, "\(answer?.body ?? "")")
    }
  }

  @Test func `a body that is not JSON is refused`() throws {
    try withRig(["out": .leased]) { _, client in
      for target in ["/v1/resend", "/v1/drop_effects", "/v1/lease", "/v1/confirm"] {
        #expect(client.ask("POST", target, "{}", ["Content-Type": "text/plain"])?.status == 415)
      }
    }
  }
}
