import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// The table of the host's functions is what the bridge offers.
@Suite struct LibraryTests {
  private static let project = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()

  @Test(arguments: RuleLibrary.functions.map(\.name), LibraryFunction.Phase.allCases)
  func `Each function can be called as its example does where the list says, and nowhere else`(
    name: String, phase: LibraryFunction.Phase
  ) throws {
    let function = try #require(RuleLibrary.functions.first { $0.name == name })
    #expect(function.example.hasPrefix(name))
    let call = "local result = \(function.example)", data = ["stamps.json": "[]"]
    func bench(_ text: String) throws -> Bench {
      try Bench("plugin { name = \"t\", sinks = { \"client\" } } \(text)", data: data)
    }
    let works =
      switch phase {
      case .load: (try? bench(call)) != nil
      case .rule:
        try bench("rule \"r\" { on = \"*\", run = function(event) \(call) end }").handle().failure == nil
      case .query: try bench("query \"q\" (function() \(call) end)").query(0, state: "{}").isSuccess
      case .handler: try bench("web \"a.example\" (function() \(call) end)").web(0).isSuccess
      case .step:
        try bench(
          "state { version = 2 } migrate { [2] = { up = function(event) \(call) return {} end } }"
        ).migrate("{}", to: 2).isSuccess
      }
    #expect(works == function.phases.contains(phase))
  }

  @Test(arguments: RuleLibrary.tables)
  func `A table has exactly the members that are listed`(table: String) throws {
    let outcome = try Bench(
      Bench.rule(
        "local names = array {} for name in pairs(\(table)) do names[#names + 1] = name end decide('names', names)")
    ).handle()
    let names = try #require(outcome.decisions["names"].flatMap { try? JSONValue(parsing: $0) }?.arrayValue)
    #expect(names.compactMap(\.stringValue) == RuleLibrary.members(of: table).sorted())
  }

  @Test func `The globals of rules are those that are listed, and Lua's own`() throws {
    let lua = [
      "assert", "coroutine", "error", "ipairs", "math", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen",
      "rawset", "select", "setmetatable", "string", "table", "tonumber", "tostring", "type", "utf8", "xpcall",
    ]
    let own = RuleLibrary.functions.map { $0.table ?? $0.name } + RuleLibrary.declarations + ["settings"]
    #expect(Set(SourceInspector.globals) == Set(own + lua))
    let worker = LuaWorker()
    let inspector = try #require(SourceInspector(worker: worker))
    for name in SourceInspector.globals { #expect(inspector.knows(name), "\(name)") }
  }

  @Test(arguments: RuleLibrary.functions.map(\.name))
  func `The page on rules names each function`(name: String) {
    let page = TemporaryFolder.read("\(Self.project)/docs/rules.md")
    let level = name.hasPrefix("log.") ? String(name.dropFirst(4)) : "\(name)("
    #expect(page.contains(level) || page.contains("\(name) {"), "docs/rules.md does not name \(name)")
  }
}

extension Result {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
