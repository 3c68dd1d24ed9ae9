import Glibc
import RuledCore
import RuledEngine
import RuledLua
import Synchronization
import TestSupport
import Testing

/// What a rules folder may hold, and what is said of the rest.
struct RulesFolderTests {
  private let folder = TemporaryFolder()
  private var rules: String { folder("rules") }

  init() { folder.write("rules/greeter/plugin.lua", "plugin { name = 'greeter' }") }

  /// Makes a file that has that size and takes no room.
  private func makeSparse(_ name: String, size: Int) {
    folder.write(name, "")
    #expect(truncate(folder(name), off_t(size)) == 0)
  }

  private func read() throws -> RulesSource { try RulesFolder.read(rules) }

  /// What is wrong with the folder, by file.
  private func errors() -> [String: String] {
    do throws(ReloadError) {
      _ = try RulesFolder.read(rules)
      return [:]
    } catch { return Dictionary(error.errors.map { ($0.file, $0.message) }) { first, _ in first } }
  }

  // MARK: The installed library

  private func readInstalled() throws -> RulesSource { try RulesFolder.read(rules, installed: folder("installed")) }

  @Test func `the modules of the installed library that plugins require belong to the revision, and no others`() throws
  {
    folder.write("rules/greeter/plugin.lua", "plugin { name = 'greeter' }\nrequire(\"first\") local note = 'third'")
    folder.write("installed/first.lua", "return select(2, pcall(require, 'second'))")
    folder.write("installed/second.lua", "return 2")
    folder.write("installed/third.lua", "return 3")
    let source = try readInstalled()
    #expect(source.plugins[0].library.map(\.path) == ["lib/first.lua", "lib/second.lua"])
    #expect(RulesSource(encoded: source.encoded)?.revision == source.revision)
    folder.write("installed/third.lua", "return 4")
    #expect(try readInstalled().revision == source.revision)
    folder.write("installed/second.lua", "return 5")
    #expect(try readInstalled().revision != source.revision)
    #expect(throws: Never.self) {
      try CatalogBuilder.build(
        source, configuration: [:], previous: nil, worker: LuaWorker(), checksFiles: true,
        now: Timestamp(microseconds: 0))
    }
  }

  @Test func `a module beside the plugin goes before that of lib, and that before the installed one`() throws {
    for (path, text) in ["rules/greeter/a.lua": "beside", "rules/lib/a.lua": "lib", "rules/lib/b.lua": "lib"] {
      folder.write(path, "return '\(text)'")
    }
    for name in ["a", "b", "c"] { folder.write("installed/\(name).lua", "return 'installed'") }
    folder.write(
      "rules/greeter/plugin.lua",
      """
      plugin { name = 'greeter' }
      assert(require 'a' == 'beside' and require 'b' == 'lib' and require 'c' == 'installed')
      """)
    let plugin = try #require(try readInstalled().plugins.first)
    #expect(plugin.library.map(\.path) == ["lib/a.lua", "lib/b.lua", "lib/c.lua"])
    #expect(throws: Never.self) { try PluginVM(source: plugin, worker: LuaWorker()) }
  }

  @Test func `modules of the library find each other, whatever stands beside the plugin under their names`() throws {
    folder.write("rules/greeter/caps.lua", "return 'own'")
    folder.write("installed/caps.lua", "return {}")
    folder.write("installed/reprompt.lua", "return require 'caps'")
    folder.write("installed/attention.lua", "return require('caps')")
    folder.write(
      "rules/greeter/plugin.lua",
      """
      plugin { name = 'greeter' }
      local first, second = require 'reprompt', require 'attention'
      assert(type(first) == 'table' and first == second and require 'caps' == 'own')
      """)
    let plugin = try #require(try readInstalled().plugins.first)
    #expect(throws: Never.self) { try PluginVM(source: plugin, worker: LuaWorker()) }
  }

  @Test(arguments: ["d.json", "more.lua", "plugin.lua", "tests/t.lua"])
  func `a FIFO, a socket, a device or a folder in a file's place is named and not waited for`(name: String) throws {
    let path = "\(rules)/greeter/\(name)"
    folder.makeFolders(to: "rules/greeter/\(name)")
    unlink(path)
    #expect(mkfifo(path, 0o644) == 0)
    #expect(errors()["greeter/\(name)"]?.contains("is a FIFO") == true)
    unlink(path)
    #expect(mkdir(path, 0o755) == 0)
    #expect(errors()["greeter/\(name)"]?.contains("is a folder") == true)
    rmdir(path)
    if mknod(path, S_IFCHR | 0o644, 0x105) == 0 {  // /dev/zero, where that is allowed
      #expect(errors()["greeter/\(name)"]?.contains("is a device") == true)
      unlink(path)
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(isBound == 0)
    #expect(errors()["greeter/\(name)"]?.contains("is a socket") == true)
  }

  @Test func `a file that is too large is refused by its size, before it is read`() {
    makeSparse("rules/greeter/d.json", size: 1 << 30)
    makeSparse("rules/greeter/more.lua", size: Limits.sourceFileBytes + 1)
    #expect(errors()["greeter/d.json"]?.contains("larger than 4 MiB") == true)
    #expect(errors()["greeter/more.lua"]?.contains("larger than 256 KiB") == true)
  }

  @Test(arguments: [
    (["greeter/words.lua": "\nlocal words = {"], "greeter/words.lua:2: "),
    (["lib/words.lua": "\nreturn = 1"], "lib/words.lua:2: "),
    (
      ["greeter/words.lua": "\nreturn function() return data('t.json') end"],
      "greeter/words.lua:2: there is no 't.json' in greeter/"
    ),
    (
      [
        "greeter/plugin.lua": "plugin { name = 'greeter' }\nlocal words = require 'words'\nif false then words() end",
        "lib/words.lua": "\n\nreturn function() return data('t.json') end",
      ], "lib/words.lua:3: there is no 't.json' in greeter/"
    ),
    (
      ["greeter/plugin.lua": "plugin { name = 'greeter' }\nif false then require('words') end"],
      "greeter/plugin.lua:2: there is no 'words.lua' beside plugin.lua or in lib"
    ),
    (
      [
        "greeter/plugin.lua":
          "plugin { name = 'greeter' }\nif false then require 'words' end\nlocal function f() return require 'words' end",
        "greeter/words.lua": "return {}",
      ], "greeter/plugin.lua:3: 'words' is required in a function, too late: require it at the top of the file"
    ),
  ])
  func `all files are checked when a folder is loaded, and not when rules are that were in force`(
    files: [String: String], error: String
  ) throws {
    let worker = LuaWorker()
    func load(_ previous: Catalog?, isNew: Bool) throws -> Catalog {
      try CatalogBuilder.build(
        try read(), configuration: [:], previous: previous, worker: worker, checksFiles: isNew, now: LocalEngine.start)
    }
    let before = try load(nil, isNew: true)
    for (path, text) in files { folder.write("rules/\(path)", text) }
    let refusal = #expect(throws: ReloadError.self) { try load(before, isNew: true) }
    #expect(refusal?.errors.count == 1 && refusal?.errors.first?.description.hasPrefix(error) == true)
    #expect(try load(nil, isNew: false).plugins.count == 1)
  }

  @Test func `hosts of web handlers are compared without case, port and trailing dot, and what can be none is refused`()
    throws
  {
    func hosts(_ names: String...) throws -> [String] {
      let handlers = names.map { "web '\($0)' (function() return { status = 200 } end)" }
      folder.write("rules/greeter/plugin.lua", "plugin { name = 'greeter' } " + handlers.joined(separator: " "))
      let catalog = try CatalogBuilder.build(
        try read(), configuration: [:], previous: nil, worker: LuaWorker(), checksFiles: true, now: LocalEngine.start)
      return catalog.plugins.flatMap(\.manifest.hosts).map(\.name)
    }
    #expect(try hosts("Shop.example:443", "b.example.", "[::1]:80") == ["shop.example", "b.example", "[::1]"])
    for names in [
      ["a.example", "A.example.:80"], ["https://a.example"], ["a b"], ["*.example"], ["é.example"], [":80"],
    ] {
      #expect(throws: ReloadError.self) { names.count == 1 ? try hosts(names[0]) : try hosts(names[0], names[1]) }
    }
  }

  @Test func `a broken file of the library is one error, however many plugins require it`() throws {
    for name in ["a", "b", "greeter"] {
      folder.write("rules/\(name)/plugin.lua", "plugin { name = '\(name)' }\nrequire 'words'")
    }
    folder.write("rules/lib/words.lua", "\nreturn = 1")
    let refusal = #expect(throws: ReloadError.self) {
      try CatalogBuilder.build(
        try read(), configuration: [:], previous: nil, worker: LuaWorker(), checksFiles: true, now: LocalEngine.start)
    }
    #expect(refusal?.errors.map(\.file) == ["lib/words.lua"])
  }

  @Test func `files of the largest size are read`() throws {
    makeSparse("rules/greeter/d.json", size: Limits.dataFileBytes)
    makeSparse("rules/greeter/more.lua", size: Limits.sourceFileBytes)
    let plugin = try #require(try read().plugins.first)
    #expect(plugin.data.map(\.text.count) == [Limits.dataFileBytes])
    #expect(plugin.modules.map(\.text.count) == [Limits.sourceFileBytes, 27])
  }

  @Test func `the folder as a whole is bounded, by bytes and by entries`() {
    for number in 0...16 { makeSparse("rules/greeter/\(number).json", size: Limits.dataFileBytes) }
    #expect(errors().values.contains { $0.contains("more than 64 MiB") })
    for number in 0...16 { unlink("\(rules)/greeter/\(number).json") }
    #expect(errors().isEmpty)
    for number in 0...Limits.folderEntries { folder.write("rules/greeter/\(number).txt", "") }
    #expect(errors()["greeter"]?.contains("more than 10000 files") == true)
  }

  @Test(arguments: ["/", "/dev/zero", "..", "../..", "../../outside", "/proc/self/root/tmp"])
  func `a link that leaves the folder is refused with its name, whatever it is called`(target: String) {
    folder.write("outside/plugin.lua", "plugin { name = 'outside' }")
    for name in ["greeter/d.json", "greeter/more.lua", "greeter/notes", "greeter/tests", "wild", "lib"] {
      folder.link("rules/\(name)", to: target)
      // From the top ".." leaves at once, from a plugin's folder it is the rules folder itself.
      let stays = target == ".." && name.contains("/")
      #expect((errors()[name]?.contains("leaves the rules folder") == true) != stays, "\(name): \(errors())")
      unlink("\(rules)/\(name)")
    }
    #expect(errors().isEmpty)
  }

  @Test func `links that lead in circles or to nothing are refused with their name`() {
    folder.link("rules/greeter/ping.lua", to: "pong.lua")
    folder.link("rules/greeter/pong.lua", to: "ping.lua")
    folder.link("rules/greeter/gone.json", to: "nothing.json")
    folder.link("rules/self", to: "self")
    let errors = errors()
    #expect(errors["greeter/ping.lua"]?.contains("circle") == true)
    #expect(errors["greeter/gone.json"]?.contains("'nothing.json', where there is nothing") == true)
    #expect(errors["self"]?.contains("circle") == true)
  }

  @Test func `links that stay in the folder are followed, and the folder itself may be a link`() throws {
    folder.write("rules/lib/common.lua", "return 1")
    folder.link("rules/greeter/common.lua", to: "../lib/common.lua")
    folder.link("rules/greeter/again.lua", to: "\(rules)/lib/common.lua")
    folder.link("rules/greeter/more.lua", to: "../greeter/../lib/./again.lua")
    folder.link("rules/lib/again.lua", to: "common.lua")
    folder.link("current", to: "rules")
    let plugin = try #require(try RulesFolder.read("\(folder.path)/current").plugins.first)
    #expect(plugin.modules.map(\.name) == ["again.lua", "common.lua", "more.lua", "plugin.lua"])
    #expect(plugin.modules.prefix(3).allSatisfy { $0.text == Array("return 1".utf8) })
  }

  @Test func `a folder filled by links over a hidden folder that is switched, as Kubernetes does it, is read`() throws {
    folder.write("rules/..2026_01/hello/plugin.lua", "one")
    folder.write("rules/..2026_02/hello/plugin.lua", "two")
    folder.link("rules/..data", to: "..2026_01")
    folder.link("rules/hello", to: "..data/hello")
    func text() throws -> [UInt8]? { try read().plugins.first { $0.name == "hello" }?.entry?.text }
    #expect(try text() == Array("one".utf8))
    folder.link("rules/..next", to: "..2026_02")
    #expect(rename("\(rules)/..next", "\(rules)/..data") == 0)
    #expect(try text() == Array("two".utf8))
  }

  @Test func `files beside plugins, and folders below them, are not looked at`() throws {
    folder.write("rules/README.md", "")
    folder.write("rules/greeter/assets/deep/x.lua", "")
    folder.link("rules/greeter/assets/out", to: "/")
    #expect(mkfifo("\(rules)/pipe", 0o644) == 0)
    #expect(mkfifo("\(rules)/greeter/pipe", 0o644) == 0)
    #expect(try read().plugins.map(\.name) == ["greeter"])
  }

  @Test func `a folder that is no plugin and a rules folder that is none are told`() {
    mkdir("\(rules)/empty", 0o755)
    #expect(errors()["empty/plugin.lua"]?.contains("needs a plugin.lua") == true)
    #expect(throws: ReloadError.self) { try RulesFolder.read("\(folder.path)/nowhere") }
    #expect(mkfifo("\(folder.path)/pipe", 0o644) == 0)
    #expect(throws: ReloadError.self) { try RulesFolder.read("\(folder.path)/pipe") }
  }

  @Test func `no more than a hundred errors are told`() {
    for number in 0..<500 { mkdir("\(rules)/p\(number)", 0o755) }
    #expect(errors().count == 100)
  }
}

/// What is made of a rules folder.
struct CatalogTests {
  private static func source(_ name: String, _ text: String, library: [SourceFile] = []) -> PluginSource {
    let head = "plugin { name = '\(name)' } "
    return PluginSource(
      name: name, modules: [SourceFile(path: "\(name)/plugin.lua", text: Array((head + text).utf8))], library: library)
  }

  private static func file(_ name: String, _ text: String) -> SourceFile {
    SourceFile(path: "lib/\(name).lua", text: Array(text.utf8))
  }

  @Test func `a plugin requires the files of the library that its text names, and those that they name`() {
    let library = ["a", "b", "c", "d", "e"].map { Self.file($0, $0 == "a" ? "return require 'e'" : "return 1") }
    let plugin = Self.source("p", #"local x = "it's" require "a" require[[b]] require('c') -- d"#, library: library)
    #expect(CatalogBuilder.required(by: plugin).map(\.name) == ["a.lua", "b.lua", "c.lua", "e.lua"])
  }

  @Test func `a kept revision is read as it was kept, in the present form and in that of earlier versions`() throws {
    let library = [Self.file("a", "return 1")]
    let source = RulesSource(plugins: [
      Self.source("p", "require 'a'", library: library), Self.source("q", "", library: library),
    ])
    let kept = try #require(RulesSource(encoded: source.encoded))
    #expect(kept.plugins == source.plugins && kept.revision == source.revision)
    let files = #"[{"path":"lib/a.lua","text":"return 1"}]"#
    let earlier = try JSONValue(
      parsing: #"[{"name":"p","modules":[{"path":"p/plugin.lua","text":"x"}],"data":[],"library":\#(files)}]"#)
    #expect(RulesSource(encoded: earlier)?.plugins.first?.library == library)
  }

  @Test func `a plugin that is slow to load has a VM for each thread, and two once they are taken`() throws {
    let worker = LuaWorker()
    let takings = Atomic<Int>(0)
    let loop = "local sum = 0 for step = 1, 4000000 do sum = sum + step end local whole = sum "
    let rule = "rule 'r' { on = 'e', run = function() decide('sum', whole) end }"
    let catalog = try CatalogBuilder.build(
      RulesSource(plugins: [Self.source("fast", rule.replacing("whole", with: "1")), Self.source("slow", loop + rule)]),
      configuration: [:], previous: nil, worker: worker,
      for: .init(3) { takings.wrappingAdd(1, ordering: .relaxed) }, now: LocalEngine.start)
    let (fast, slow) = (catalog.plugins[0].readyVMs, catalog.plugins[1].readyVMs)
    try #require(slow.isSlow)
    #expect(slow.count == 3 && fast.count <= 3)
    for left in [2, 1, 0] {
      let thread = LuaWorker()
      let engine = try LocalEngine(catalog: catalog, lua: thread)
      let outcome = try engine.event(["type": "e", "subject": "s"])
      #expect(outcome["decisions"]?["slow"]?["sum"] == 8_000_002_000_000)
      #expect(slow.count == left)
    }
    #expect(takings.load(ordering: .relaxed) >= 3)
    // On a busy host the other one may have been slow, too.
    for _ in 0..<(fast.isSlow ? 4 : 2) { #expect(CatalogBuilder.replenish(catalog, worker: worker)) }
    #expect(!CatalogBuilder.replenish(catalog, worker: worker))
    #expect(slow.count == 2)
    let same = try CatalogBuilder.build(
      catalog.source, configuration: [:], previous: catalog, worker: worker, for: .init(3), now: LocalEngine.start)
    #expect(same.plugins[1] === catalog.plugins[1] && slow.count == 2)
  }

  @Test func `a rule in a VM that another thread built is stopped at its budget`() throws {
    let built = LuaWorker()
    let catalog = try CatalogBuilder.build(
      RulesSource(plugins: [Self.source("p", "rule 'r' { on = 'e', run = function() while true do end end }")]),
      configuration: [:], previous: nil, worker: built, now: LocalEngine.start)
    #expect(catalog.plugins[0].readyVMs.count == 1)
    let engine = try LocalEngine(catalog: catalog, lua: LuaWorker())
    let outcome = try engine.event(["type": "e", "subject": "s"])
    #expect(catalog.plugins[0].readyVMs.count == 0)
    #expect(["time", "instructions"].contains(outcome["failures"]?[0]?["kind"]?.stringValue))
  }
}
