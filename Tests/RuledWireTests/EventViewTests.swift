import RuledCore
import TestSupport
import Testing

@testable import RuledWire

@Suite("CloudEvents")
struct EventViewTests {
  private func fault(_ members: String) throws -> String? {
    try Wire.fault("event", "{\"type\":\"t\",\"subject\":\"s\"\(members.isEmpty ? "" : ",")\(members)}") {
      (request) throws(RequestError) in try EventView(request)
    }
  }

  /// A name of so many letters.
  private static func name(_ count: Int) -> String { String(repeating: "a", count: count) }

  private func text(_ bytes: ByteView?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

  @Test
  func `An event's attributes are those that were sent`() throws {
    let params = #"""
      { "type":"app.l\u0061unched","subject":"device:ü","id":"3f","source":"ios","specversion":"1.0",
      "time":"2025-11-10T12:34:56.789Z","data" : {"a": [1.0, "}"]} ,"traceparent":"00","weight":2,"on":true,"dryrun":true,
      "explain":false,"wait":"cascade","datacontenttype":"application/json","absent":null }
      """#
    try Wire.request("event", params) { request in
      let event = try EventView(request)
      #expect(text(event.type) == "app.launched")
      #expect(text(event.subject) == "device:ü")
      #expect(text(event.id) == "3f")
      #expect(text(event.source) == "ios")
      #expect(event.time?.microseconds == 1_762_778_096_789_000)
      #expect(text(event.dataText) == #"{"a": [1.0, "}"]}"#)
      #expect(event.data?.kind == .object)
      #expect(event.isDryRun && !event.isExplained && event.waitsForCascade)
      #expect(text(event.text) == params)
      var names: [String] = []
      var extensions = event.extensions
      while let member = extensions.next() { names.append("\(text(member.name) ?? "")=\(text(member.text) ?? "")") }
      #expect(names == [#"traceparent="00""#, "weight=2", "on=true", #"datacontenttype="application/json""#])
      #expect(event.hasExtensions)
    }
  }

  @Test
  func `An event of type and subject alone has no id, no time, no data and an empty source`() throws {
    try Wire.request("event", #"{"type":"t","subject":"s","id":null,"time":null,"data":null,"x":null}"#) { request in
      let event = try EventView(request)
      #expect(event.id == nil && event.time == nil && event.data == nil)
      #expect(event.dataText.isEmpty && event.source.isEmpty)
      #expect(!event.isDryRun && !event.isExplained && !event.waitsForCascade && !event.hasExtensions)
    }
  }

  @Test(arguments: ["[]", "{}", "{\"a\":[1]}"])
  func `An event may have 10,000 lists, objects and members at any depth, its attributes included`(value: String) throws
  {
    let each = value.hasPrefix("{\"") ? 3 : 1
    let count = (10_000 - 5) / each  // beside the event, type, subject, data and the list
    func list(_ count: Int) -> String { "[" + Array(repeating: value, count: count).joined(separator: ",") + "]" }
    #expect(try fault("\"data\":" + list(count)) == nil)
    #expect(try fault("\"data\":" + list(count + 1)) == "params")
    #expect(try fault("\"data\":[" + String(repeating: "1,", count: 200_000) + "1]") == nil)
    let names = (0..<10_000).map { "\"a\($0)\":1" }.joined(separator: ",")
    #expect(try fault(names) == "params")
  }

  @Test
  func `The check for extensions agrees with the walk over them, whatever the event has`() throws {
    var random = SeededRandom(seed: 13)
    let members = [
      #""datacontenttype":"text/plain""#, #""dataschema":"a""#, #""data_base64":"AA==""#, #""data_base64":null"#,
      #""datacontenttype":null"#, #""x":1"#, #""x":null"#, #""id":"1""#, #""source":"s""#, #""dryrun":true"#,
      #""specversion":"1.0""#, #""time":"2025-11-10T12:34:56Z""#, #""explain":false"#, #""wait":null"#, #""data":null"#,
    ]
    for _ in 0..<500 {
      let count = Int.random(in: 0...4, using: &random)
      let chosen = (0..<count).compactMap { _ in members.randomElement(using: &random) }
      let params = "{" + ([#""type":"t""#, #""subject":"s""#] + chosen).joined(separator: ",") + "}"
      try Wire.request("event", params) { request in
        let event = try EventView(request)
        var extensions = event.extensions
        #expect(event.hasExtensions == (extensions.next() != nil), "\(params)")
      }
    }
  }

  @Test(arguments: ["0", "\"\"", "[]", "{}", "false", "1e3", "[null]"])
  func `Data may be any JSON value`(data: String) throws {
    try Wire.request("event", "{\"data\":\(data),\"type\":\"t\",\"subject\":\"s\"}") { request in
      let event = try EventView(request)
      #expect(text(event.dataText) == data)
    }
  }

  @Test(arguments: [
    (#""type":"""#, "params.type"), (#""type":null"#, "params.type"), (#""type":1"#, "params.type"),
    (#""type":"a\nb""#, "params.type"), (#""type":"\u0000""#, "params.type"),
    (#""subject":"\u007f""#, "params.subject"),
    (#""subject":"\u0085""#, "params.subject"), ("\"subject\":\"a\u{9F}\"", "params.subject"),
    (#""subject":{}"#, "params.subject"), (#""subject":"""#, "params.subject"),
    (#""id":"""#, "params.id"), (#""id":7"#, "params.id"), (#""id":"\t""#, "params.id"),
    (#""source":1"#, "params.source"), (#""source":"\u001f""#, "params.source"),
    (#""specversion":"0.3""#, "params.specversion"), (#""specversion":1.0"#, "params.specversion"),
    (#""time":"yesterday""#, "params.time"), (#""time":1"#, "params.time"), (#""time":"""#, "params.time"),
    (#""data":1,"data_base64":"AA==""#, "params.data_base64"), (#""data_base64":"A""#, "params.data_base64"),
    (#""data_base64":"A===""#, "params.data_base64"), (#""data_base64":"A=A=""#, "params.data_base64"),
    (#""data_base64":"AA-_""#, "params.data_base64"), (#""data_base64":1"#, "params.data_base64"),
    (#""datacontenttype":1"#, "params.datacontenttype"), (#""dataschema":{}"#, "params.dataschema"),
    (#""dryrun":1"#, "params.dryrun"), (#""explain":"true""#, "params.explain"),
    (#""wait":"all""#, "params.wait"), (#""wait":true"#, "params.wait"),
    (#""myExt":1"#, "params.myExt"), (#""a_b":1"#, "params.a_b"), (#""":1"#, "params[\"\"]"),
    (#""a.b":1"#, "params[\"a.b\"]"),
    ("\"\(EventViewTests.name(65))\":1", "params[\"\(EventViewTests.name(64))…\"]"),
    (#""ext":{}"#, "params.ext"), (#""ext":[1]"#, "params.ext"),
  ])
  func `A wrong member is named by its path`(members: String, path: String) throws {
    #expect(try fault(members) == path)
  }

  @Test(arguments: [
    #""data":null,"data_base64":"AAA=""#, #""data_base64":null,"data":1"#, #""data_base64":"""#, #""source":"""#,
    #""knativekafkapartition":"x""#, "\"\(EventViewTests.name(64))\":1", #""0":1.5"#, #""specversion":"1.0""#,
    #""wait":null"#, #""dryrun":null"#,
    #""id":"\u00a0""#, #""time":"2025-11-10T12:34:60+01:00""#, "\"subject\":\"é\u{A0}\"",
  ])
  func `Members that the rules allow are accepted`(members: String) throws {
    #expect(try fault(members) == nil)
  }

  @Test
  func `Type and subject are required, and 256 bytes are the most`() throws {
    func check(_ params: String) throws -> String? {
      try Wire.fault("event", params) { (request) throws(RequestError) in try EventView(request) }
    }
    let (fits, over) = (String(repeating: "é", count: 128), String(repeating: "é", count: 128) + "a")
    #expect(try check("{\"type\":\"\(fits)\",\"subject\":\"\(fits)\"}") == nil)
    #expect(try check("{\"type\":\"\(over)\",\"subject\":\"s\"}") == "params.type")
    #expect(try check("{\"type\":\"t\",\"subject\":\"\(over)\"}") == "params.subject")
    #expect(try check("{\"subject\":\"s\"}") == "params.type")
    #expect(try check("{\"type\":\"t\"}") == "params.subject")
    #expect(try check("{}") == "params.type")
    #expect(try check("[]") == "params")
    #expect(try check("[{}]") == "params")
  }
}

extension EventView {
  /// The text of the data; empty without data.
  fileprivate var dataText: ByteView { data == nil ? .empty : text.rawMember("data") }
}
