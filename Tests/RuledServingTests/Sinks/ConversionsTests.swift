import IOTestSupport
import RuledCore
import RuledEngine
import RuledJSON
import TestSupport
import Testing

@testable import RuledServing

/// The boss's conversions against the form that Meta documents for app events.
@Suite(.serialized) struct ConversionsTests {
  private static let root = String(#filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 })

  @Test func `an install reaches Meta in its own form, one event a request`() throws {
    let folder = TemporaryFolder()
    folder.write("token", "EAAB-token\n")
    let receiver = try Receiver()
    defer { receiver.close() }
    let clock = EngineClock(manual: try #require(Timestamp(rfc3339: "2025-11-10T12:34:56.789Z")))
    let rig = try DeliveryRig(
      sinks: ["conversions": .posting(receiver.url("/v24.0/123/events"), secret: folder("token"))],
      rules: try RulesFolder.read(Self.root + "/rules") { $0 == "attribution" }, clock: clock)
    let outcome = rig.event(
      """
      {"type":"app.launched","subject":"device:d","id":"1","data":{"platform":"android",\
      "url":"https://discovery.ozma.io/go-app/the-boss?fbclid=IwAR1aBc&utm_source=facebook&utm_campaign=c&email=John_Smith%40gmail.com"}}
      """)
    #expect(eventually { rig.figures("conversions").present.delivered == 1 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(receiver.requests.count == 1)
    let request = try #require(receiver.requests.first)
    #expect(request.method == "POST")
    #expect(request.path == "/v24.0/123/events")
    #expect(request.headers["authorization"] == "Bearer EAAB-token")
    #expect(request.headers["content-type"] == "application/json")
    let body = try JSONValue(parsing: request.body)
    #expect(body.objectValue?.names == ["data"])
    #expect(body["data"]?.arrayValue?.count == 1)
    let event = try #require(body["data"]?[0])
    let effect = try #require(outcome["effects"]?.arrayValue?.first { $0["sink"]?.stringValue == "conversions" })
    #expect(event["event_name"]?.stringValue == "AppInstall")
    #expect(event["event_time"] == .integer(1_762_778_096))
    #expect(event["action_source"]?.stringValue == "app")
    #expect(event["event_id"] == effect["data"]?["eventId"])
    #expect(
      event["user_data"]
        == .object([
          "em": "62a14e44f765419d10fea99367361a727c12365e2520f32218d505ed9aa0f62f",
          "fbc": "fb.1.1762778096789.IwAR1aBc",
        ]))
    #expect(event["custom_data"] == .object(["utm_source": "facebook", "utm_campaign": "c"]))
    let app = try #require(event["app_data"])
    #expect(
      Set(app.objectValue?.names ?? []) == ["advertiser_tracking_enabled", "application_tracking_enabled", "extinfo"])
    #expect(app["application_tracking_enabled"] == 1)
    #expect([JSONValue.integer(0), .integer(1)].contains(app["advertiser_tracking_enabled"]))
    let info = try #require(app["extinfo"]?.arrayValue)
    #expect(info.count == 16)
    #expect(info.allSatisfy { $0.stringValue != nil })
    #expect(info[0].stringValue == "a2")
  }

  @Test func `a conversion that waited for more than seven days expires`() throws {
    let isLate = Signal<Bool>()
    let receiver = try Receiver { index, _ in .init(status: index == 0 && isLate.wait() ? 503 : 200) }
    defer { receiver.close() }
    let clock = EngineClock(manual: try #require(Timestamp(rfc3339: "2025-11-10T12:00:00Z")))
    let rig = try DeliveryRig(
      sinks: ["conversions": .posting(receiver.url())],
      rules: try RulesFolder.read(Self.root + "/rules") { $0 == "attribution" }, clock: clock, retryAfter: 150,
      timeout: 180_000)
    rig.event(
      #"{"type":"app.launched","subject":"device:d","id":"1","data":{"platform":"android","url":"https://x.example/?fbclid=a&utm_source=facebook"}}"#
    )
    #expect(eventually { receiver.requests.count == 1 })
    clock.set(try #require(Timestamp(rfc3339: "2025-11-17T12:00:01Z")))
    isLate.set(true)
    #expect(eventually { rig.figures("conversions").present.expired == 1 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(receiver.requests.count == 1)
  }
}
