import RuledCore
import Testing

@testable import RuledServing

@Suite struct WebHandlerTests {
  @Test(arguments: ["site.example", "SITE.example.:8080", "site.example:"])
  func `requests to a claimed host reach its handler only`(_ host: String) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    for path in ["/healthz", "/v1/rules", "/metrics", "/"] {
      let answer = client.ask("GET", path, nil, ["Host": host])
      #expect(answer?.status == 201)
      #expect(answer?.json?["path"] == .string(path))
      #expect(answer?.json?["host"] == .string("site.example"))
    }
  }

  @Test func `the handler sees the request as it was sent`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let answer = client.ask(
      "POST", "/a%20b?x=1%2B1&y&x=2", "body", ["Host": "site.example", "X-Mixed": "V", "Content-Type": "text/plain"])
    #expect(answer?.headers["x-echo"] == "x=1%2B1&y&x=2")
    let seen = answer?.json
    #expect(seen?["method"] == .string("POST"))
    #expect(seen?["path"] == .string("/a%20b"))
    #expect(seen?["query"] == .object(["x": .string("1+1"), "y": .string("")]))
    #expect(seen?["headers"]?["x-mixed"] == .string("V"))
    #expect(seen?["body"] == .string("body"))
  }

  @Test func `the handler never sees the daemon's token`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let answer = client.ask(
      "GET", "/", nil, ["Host": "site.example", "Authorization": "Bearer secret", "X-Other": "V"])
    #expect(answer?.json?["headers"]?["x-other"] == .string("V"))
    #expect(answer?.json?["headers"]?["authorization"] == nil)
  }

  @Test(arguments: ["/boom", "/bad"])
  func `a handler that fails shows clients nothing of the reason`(_ path: String) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let answer = HTTPClient(rig.client()).ask("GET", path, nil, ["Host": "site.example"])
    #expect(answer?.status == 500)
    #expect(answer?.body.contains("inside") == false)
    #expect(answer?.body.contains("plugin.lua") == false)
    #expect(rig.log.lines.contains { $0.level == .error })
  }

  @Test func `an unknown member of the answer is a failure, and the log names the one that was meant`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    #expect(HTTPClient(rig.client()).ask("GET", "/misspelt", nil, ["Host": "site.example"])?.status == 500)
    let reason = "it has an unknown member 'stauts'; did you mean 'status'?"
    #expect(rig.log.lines.contains { $0.message.hasSuffix(reason) })
  }

  @Test func `an absolute target names the host`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    #expect(HTTPClient(rig.client()).ask("GET", "http://site.example/healthz")?.status == 201)
  }
}
