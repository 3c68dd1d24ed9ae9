import RuledCore
import RuledJSON
import Testing

@testable import RuledLua

/// What plugins may declare about the data of events and the arguments of queries.
@Suite struct SchemaTests {
  private static func plugin(_ text: String) -> String { "plugin { name = \"t\", version = \"1\" }\n" + text }

  private func loaded(_ text: String) throws -> PluginManifest { try Bench(Self.plugin(text)).vm.manifest }

  private func refusal(_ text: String) -> String? {
    do throws(LoadError) {
      let source = PluginSource(
        name: "t", modules: [SourceFile(path: "t/plugin.lua", text: Array(Self.plugin(text).utf8))])
      _ = try PluginVM(source: source, worker: LuaWorker())
      return nil
    } catch { return "\(error.line): \(error.message)" }
  }

  @Test func `An event's members are declared with their types, and shown as they were written`() throws {
    let manifest = try loaded(
      """
      event "promo.redeemed" {
        code = "string: as the user typed it", amount = "integer?", tags = { "string" },
        buyer = { name = "string", ["address?"] = { city = "string" } },
      }
      event("plain", {}, { about = "Nothing more.", checked = false, closed = true })
      """)
    let event = manifest.events[0]
    #expect(event.type == "promo.redeemed" && event.isChecked && !event.isClosed && event.line == 2)
    #expect(
      event.data.json == [
        "code": "string: as the user typed it", "amount": "integer?", "tags": ["string"],
        "buyer": ["name": "string", "address?": ["city": "string"]],
      ])
    #expect(event.data.members.first { $0.name == "code" }?.about == "as the user typed it")
    #expect(manifest.events[1].about == "Nothing more." && !manifest.events[1].isChecked && manifest.events[1].isClosed)
  }

  @Test func `A query may declare its arguments, and the old form stays`() throws {
    let bench = try Bench(
      Self.plugin(
        """
        query "old" (function(state) return { old = true } end)
        query "new" { about = "Some.", args = { limit = "integer?" }, run = function(state, args) return { args.limit } end }
        """))
    #expect(bench.vm.manifest.queries.map { $0.arguments?.names } == [nil, ["limit"]])
    #expect(bench.vm.manifest.queries[1].about == "Some.")
    #expect(bench.query(0, state: "{}") == .success(#"{"old":true}"#))
    #expect(bench.query(1, #"{"limit":3}"#, state: "{}") == .success("[3]"))
  }

  @Test(arguments: [
    (#"event "x" { a = "strng" }"#, "2: event 'x'.a: there is no type 'strng'; did you mean 'string'?"),
    (#"event "x" { a = { "integr" } }"#, "2: event 'x'.a[]: there is no type 'integr'; did you mean 'integer'?"),
    (
      #"event "x" { b = { c = "?" } }"#,
      "2: event 'x'.b.c: there is no type ''; types are string, integer, number, "
        + "boolean, object, array, any"
    ),
    (
      #"event "x" { a = 1 }"#,
      "2: event 'x'.a must be a type such as \"string\", a table of members, or { TYPE } for "
        + "an array"
    ),
    (#"event "x.*" {}"#, "2: event 'x.*': the name must be one event type, without *"),
    (#"event("x", {}, { close = true })"#, "2: event 'x' has no option 'close'; did you mean 'closed'?"),
    (#"event("x", {}, { closed = 1 })"#, "2: event 'x'.closed must be true or false"),
    (#"event "x" {} event "x" {}"#, "2: event 'x' is declared twice, first at t/plugin.lua:2"),
    (#"query "q" { arg = {}, run = function() end }"#, "2: query 'q' has no key 'arg'; did you mean 'args'?"),
    (
      #"query "q" { args = { n = "int" }, run = function() end }"#,
      "2: query 'q': args.n: there is no type 'int'; did you mean 'integer'?"
    ),
    (#"query "q" { args = {} }"#, "2: query 'q' has no 'run' function"),
  ])
  func `A wrong declaration is refused with its place`(text: String, message: String) {
    #expect(refusal(text)?.contains(message) == true, "\(refusal(text) ?? "it loads")")
  }

  @Test(
    arguments: [
      (#"{"code":"a"}"#, nil), (#"{"code":"a","amount":null}"#, nil), (#"{"code":"a","amount":2.0}"#, nil),
      (#"{"code":"a","items":[{"price":1},{"price":2.5}],"other":1}"#, nil),
      (#"{"cod":"a","amount":1}"#, "data.code is required; there is 'cod', which is unknown"),
      (#"{"amount":1}"#, "data.code is required"), (#"{"code":null}"#, "data.code is required"),
      (#"{"code":"a","code":1}"#, "data.code must be a string, not an integer"),
      (#"{"code":"a","amount":"5"}"#, "data.amount must be an integer, not a string"),
      (#"{"code":"a","amount":2.5}"#, "data.amount must be an integer, not a number"),
      (#"{"code":"a","amount":1e300}"#, "data.amount must be an integer, not a number"),
      (#"{"code":"a","amount":-9223372036854775809}"#, "data.amount must be an integer, not a number"),
      (
        #"{"code":"a","amount":18446744073709551615}"#,
        "data.amount must be an integer, not a whole number beyond 64 bits"
      ),
      (#"{"code":"a","items":{}}"#, "data.items must be an array of object, not an object"),
      (#"{"code":"a","items":[{"price":1},{"price":true}]}"#, "data.items[1].price must be a number, not a boolean"),
      (#"{"code":"a","items":[3]}"#, "data.items[0] must be an object, not an integer"),
      (#"[1]"#, "data must be an object, not an array"), ("null", "data.code is required"),
      (#"{"code":"a","flag":0}"#, "data.flag must be a boolean, not an integer"),
    ] as [(String, String?)])
  func `Data is as declared, or the first mismatch is named`(data: String, mismatch: String?) throws {
    let manifest = try loaded(
      """
      event "x" {
        code = "string", amount = "integer?", ["items?"] = { { price = "number" } }, flag = "boolean?", any = "any?",
      }
      """)
    let schema = manifest.events[0].data
    let document = TapeDocument()
    let value = try Array(data.utf8).withView { try document.parse(copyOf: $0) }
    do throws(SchemaMismatch) {
      try schema.check(value, at: "data", onlyKnown: nil)
      #expect(mismatch == nil)
    } catch { #expect("\(error.path) \(error.detail)" == mismatch) }
  }
}
