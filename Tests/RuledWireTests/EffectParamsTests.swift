import RuledCore
import Testing

@testable import RuledWire

@Suite("Params of the methods about effects")
struct EffectParamsTests {
  @Test func `a list is filtered by every member`() throws {
    let params =
      #"{"sink":"mail","plugin":"p","subject":"s","type":"t","status":"failed","data":true,"after":"1-s","limit":7}"#
    var expected = EffectsParams()
    (expected.sink, expected.plugin, expected.subject, expected.type) = ("mail", "p", "s", "t")
    (expected.status, expected.withData, expected.after, expected.limit) = (.failed, true, "1-s", 7)
    #expect(try Wire.request("effects", params) { try EffectsParams($0) } == expected)
    #expect(try Wire.request("effects", #"{"sink":null,"status":null}"#) { try EffectsParams($0) } == EffectsParams())
    for (params, path) in [
      (#"{"status":"lost"}"#, "params.status"), (#"{"limit":0}"#, "params.limit"), (#"{"limit":1001}"#, "params.limit"),
      (#"{"data":1}"#, "params.data"), (#"{"sink":1}"#, "params.sink"), (#"{"subject":""}"#, "params.subject"),
      (#"{"sinks":"mail"}"#, "params.sinks"),
    ] {
      #expect(try Wire.fault("effects", params) { (r) throws(RequestError) in try EffectsParams(r) } == path)
    }
  }

  @Test func `effects are chosen by id, by keys, or as all that a sink has given up`() throws {
    func select(_ params: String) throws -> EffectSelection {
      try Wire.request("resend", params) { try EffectSelection($0) }
    }
    #expect(try select(#"{"id":"a"}"#) == .id("a", subject: nil))
    #expect(try select(#"{"id":"a","subject":"s","keys":null}"#) == .id("a", subject: "s"))
    #expect(try select(#"{"keys":["1-s","2-s"]}"#) == .keys(["1-s", "2-s"]))
    #expect(try select(#"{"sink":"mail","status":"failed"}"#) == .failed(sink: "mail"))
    let tooMany = "{\"keys\":[\(Array(repeating: "\"1-s\"", count: Limits.listMaximum + 1).joined(separator: ","))]}"
    for (params, path) in [
      ("{}", "params.id"), (#"{"id":"a","keys":["1-s"]}"#, "params.id"), (#"{"id":"a","sink":"mail"}"#, "params.id"),
      (#"{"id":1}"#, "params.id"), (#"{"keys":[]}"#, "params.keys"), (#"{"keys":["1-s",2]}"#, "params.keys[1]"),
      (tooMany, "params.keys"), (#"{"sink":"mail"}"#, "params.status"),
      (#"{"sink":"mail","status":"waiting"}"#, "params.status"),
    ] {
      let fault = try Wire.fault("resend", params) { (r) throws(RequestError) in try EffectSelection(r) }
      #expect(fault == path, "\(params)")
    }
  }

  @Test func `a lease is for one sink or several, and its numbers have bounds`() throws {
    let one = try Wire.request("lease", #"{"sink":"mail"}"#) { try LeaseParams($0) }
    #expect(one.sinks == ["mail"] && one.limit == Limits.listDefault && one.wait == 0)
    #expect(one.seconds == Int(Limits.leaseDefaultSeconds))
    let some = try Wire.request("lease", #"{"sinks":["a","b"],"limit":1,"seconds":5,"wait":2}"#) { try LeaseParams($0) }
    #expect(some.sinks == ["a", "b"] && some.limit == 1 && some.seconds == 5 && some.wait == 2)
    for (params, path) in [
      ("{}", "params.sink"), (#"{"sinks":[]}"#, "params.sinks"), (#"{"sink":"a","sinks":["b"]}"#, "params.sink"),
      (#"{"sinks":"a"}"#, "params.sinks"), (#"{"sink":"a","seconds":0}"#, "params.seconds"),
      ("{\"sink\":\"a\",\"seconds\":\(Limits.leaseSeconds + 1)}", "params.seconds"),
      ("{\"sink\":\"a\",\"wait\":\(Limits.leaseWaitSeconds + 1)}", "params.wait"),
      (#"{"sink":"a","wait":-1}"#, "params.wait"), (#"{"sink":"a","limit":1.5}"#, "params.limit"),
    ] {
      #expect(try Wire.fault("lease", params) { (r) throws(RequestError) in try LeaseParams(r) } == path, "\(params)")
    }
  }

  @Test func `each lease is confirmed with its result`() throws {
    let params = """
      {"leases":[{"lease":"a","result":"delivered"},
      {"lease":"b","result":"retry","error":"busy","status":503,"body":"later","retry_after_s":60,"hold":true},
      {"lease":"c","result":"give_up"}]}
      """
    let results = try Wire.request("confirm", params) { try ConfirmParams($0).results }
    #expect(
      results == [
        .init(lease: "a", outcome: .delivered),
        .init(
          lease: "b",
          outcome: .failed(.init(reason: "busy", status: 503, body: "later"), atLeast: 60_000, .atOnce)),
        .init(lease: "c", outcome: .givenUp(.init(reason: "the client gave no reason"))),
      ])
    for (params, path) in [
      ("{}", "params.leases"), (#"{"leases":{}}"#, "params.leases"), (#"{"leases":[1]}"#, "params.leases[0]"),
      (#"{"leases":[{"lease":"a"}]}"#, "params.leases[0].result"),
      (#"{"leases":[{"result":"delivered"}]}"#, "params.leases[0].lease"),
      (#"{"leases":[{"lease":"a","result":"lost"}]}"#, "params.leases[0].result"),
      (#"{"leases":[{"lease":"a","result":"retry","status":99}]}"#, "params.leases[0].status"),
      (#"{"leases":[{"lease":"a","result":"retry","retry_after_s":86401}]}"#, "params.leases[0].retry_after_s"),
      (#"{"leases":[{"lease":"a","result":"retry","retry_after":1}]}"#, "params.leases[0].retry_after"),
    ] {
      let fault = try Wire.fault("confirm", params) { (r) throws(RequestError) in try ConfirmParams(r) }
      #expect(fault == path, "\(params)")
    }
  }
}
