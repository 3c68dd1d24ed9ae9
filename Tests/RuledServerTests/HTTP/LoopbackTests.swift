import RuledCore
import Testing

@testable import RuledServer

@Suite struct LoopbackTests {
  @Test func aTokenIsNeededForAllButTheHealth() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    #expect(client.ask("GET", "/healthz")?.status == 200)
    for headers in [[:], ["Authorization": "Bearer wrong"], ["Authorization": "secret"]] {
      let refused = client.ask("GET", "/v1/rules", nil, headers)
      #expect(refused?.status == 401)
      #expect(refused?.headers["www-authenticate"] != nil)
    }
    #expect(client.ask("GET", "/v1/rules", nil, ["Authorization": "bearer secret"])?.status == 200)
  }

  @Test(arguments: [(Role.reader, 200, 403, 403), (.writer, 200, 200, 403), (.admin, 200, 200, 200)])
  func theTokensRoleBoundsWhatMayBeCalled(_ role: Role, _ reading: Int, _ writing: Int, _ administering: Int) throws {
    let rig = try ServerRig(token: "secret") { $0.http.role = role }
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let token = ["Authorization": "Bearer secret"]
    #expect(client.ask("GET", "/v1/subjects", nil, token)?.status == reading)
    #expect(client.ask("GET", "/metrics", nil, token)?.status == reading)
    #expect(client.ask("POST", "/v1/events", #"{"type":"n","subject":"s"}"#, token)?.status == writing)
    #expect(client.ask("HEAD", "/v1/watch", nil, token)?.status == writing)
    #expect(client.ask("DELETE", "/v1/subjects/s", nil, token)?.status == administering)
  }

  @Test func aConnectionBeyondTheLimitIsTurnedAway() throws {
    let rig = try ServerRig(token: "secret") { $0.limits.connections = 0 }
    defer { rig.stop() }
    #expect(HTTPClient(try rig.loopbackClient()).receive()?.status == 429)
  }
}
