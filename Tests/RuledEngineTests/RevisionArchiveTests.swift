import RuledCore
import RuledEngine
import RuledLua
import RuledStore
import TestSupport
import Testing

/// What the archive of revisions keeps, gives back and says of damage.
struct RevisionArchiveTests {
  private let folder = TemporaryFolder()
  private let lua = LuaWorker()

  private func catalog(
    _ text: String = "", settings: [String: Configuration.Plugin] = [:], at seconds: Int64 = 0, more: [SourceFile] = []
  ) throws -> Catalog {
    let library = [SourceFile(path: "lib/dates.lua", text: Array("return { one = 1 }".utf8))]
    let greeter = PluginSource(
      name: "greeter",
      modules: [
        SourceFile(
          path: "greeter/plugin.lua",
          text: Array(
            "plugin { name = 'greeter', settings = { words = 'hi', most = 1.0, list = { 'a' } } }\(text)".utf8))
      ] + more, library: library)
    let other = PluginSource(
      name: "other", modules: [SourceFile(path: "other/plugin.lua", text: Array("plugin { name = 'other' }".utf8))],
      library: library)
    return try CatalogBuilder.build(
      RulesSource(plugins: [greeter, other]), configuration: settings, previous: nil, worker: lua,
      now: Timestamp(microseconds: seconds * 1_000_000))
  }

  private func rebuild(_ archive: RevisionArchive, _ revision: String) throws -> Catalog {
    let kept = try archive.load(revision)
    return try CatalogBuilder.build(
      kept.rules, configuration: kept.configuration, previous: nil, worker: lua, now: kept.entry.loadedAt)
  }

  @Test(arguments: [true, false])
  func `a revision can be built again from the archive, with files that are no UTF-8 and with settings`(
    onDisk: Bool
  ) throws {
    let path = onDisk ? folder("revisions") : nil
    let archive = RevisionArchive(folder: path)
    let bytes = SourceFile(
      path: "greeter/bytes.lua", text: Array("return '".utf8) + [0xFF, 0x00, 0xC3] + Array("'".utf8))
    let settings: JSONObject = ["words": "ä\"\n", "most": 1e300, "list": ["b", [1, nil, 2.5]]]
    let catalogs = [
      try catalog(),
      try catalog(settings: [
        "greeter": .init(settings: settings), "other": .init(isEnabled: false), "gone": .init(isEnabled: true),
      ]),
      try catalog("\nlocal x = 'ß'", more: [bytes]),
    ]
    for catalog in catalogs { try archive.keep(catalog, from: .folder) }
    let reopened = onDisk ? RevisionArchive(folder: path) : archive
    #expect(reopened.problems == [])
    #expect(reopened.entries.map(\.revision) == catalogs.map(\.revision))
    for catalog in catalogs {
      let again = try rebuild(reopened, catalog.revision)
      #expect(again.revision == catalog.revision)
      #expect(again.plugins.map(\.name) == catalog.plugins.map(\.name))
      #expect(again.plugins.map(\.overrides) == catalog.plugins.map(\.overrides))
    }
  }

  @Test func `a plugin that the configuration disables is no unknown one`() throws {
    var configuration = Configuration()
    configuration.plugins = ["other": .init(isEnabled: false), "gone": .init(isEnabled: true)]
    let problems = try catalog(settings: configuration.plugins).problems(in: configuration)
    #expect(problems.map(\.path) == [["plugins", "gone"]])
  }

  @Test func `entries tell when, from where, and which plugins changed`() throws {
    let archive = RevisionArchive(folder: folder("revisions"))
    let (first, second) = (try catalog(at: 10), try catalog(" ", at: 20))
    try archive.keep(first, from: .folder)
    try archive.keep(second, from: .folder)
    try archive.keep(try catalog(settings: ["other": .init(isEnabled: false)], at: 30), from: .rollout)
    let entries = RevisionArchive(folder: folder("revisions")).entries
    #expect(entries.map(\.changed) == [["greeter", "other"], ["greeter"], ["greeter", "other"]])
    #expect(entries.map(\.origin) == [.folder, .folder, .rollout])
    #expect(entries[1].loadedAt == second.loadedAt)
    #expect(archive.predecessor(of: second.revision)?.revision == first.revision)
    #expect(archive.predecessor(of: first.revision) == nil)
    #expect(archive.predecessor(of: nil)?.revision == second.revision)
  }

  @Test func `a revision that is loaded again is the latest, and nothing is written if it is so already`() throws {
    let archive = RevisionArchive(folder: folder("revisions"))
    let (first, second) = (try catalog(at: 10), try catalog(" ", at: 20))
    for catalog in [first, second, first] { try archive.keep(catalog, from: .folder) }
    #expect(archive.entries.map(\.revision) == [second.revision, first.revision])
    let text = folder.read("revisions/\(first.revision)")
    try archive.keep(try catalog(at: 99), from: .folder)
    #expect(folder.read("revisions/\(first.revision)") == text)
  }

  @Test func `a revision of another archive becomes the latest, once for each load, and one of no archive does not`()
    throws
  {
    let (archive, other) = (RevisionArchive(folder: folder("revisions")), RevisionArchive(folder: nil))
    let (first, second) = (try catalog(at: 10), try catalog(" ", at: 20))
    for catalog in [first, second] { try other.keep(catalog, from: .folder) }
    func take(_ revision: String) throws -> [String] {
      try archive.take(try other.load(revision))
      return archive.entries.map(\.revision)
    }
    #expect(try take(first.revision) == [first.revision])
    #expect(try take(second.revision) == [first.revision, second.revision])
    #expect(try take(first.revision) == [first.revision, second.revision])
    try other.keep(try catalog(at: 30), from: .folder)
    #expect(try take(first.revision) == [second.revision, first.revision])
    let offered = try catalog("  ", at: 40)
    try archive.take(.init(offered, from: .folder))
    #expect(!archive.contains(offered.revision))
    #expect(RevisionArchive(folder: folder("revisions")).entries == archive.entries)
  }

  @Test func `a damaged, changed, truncated or missing file is an error that names it, and others are read`() throws {
    let archive = RevisionArchive(folder: folder("revisions"))
    let (good, bad) = (try catalog(), try catalog(" "))
    try archive.keep(good, from: .folder)
    try archive.keep(bad, from: .folder)
    let name = "revisions/\(bad.revision)"
    let text = folder.read(name)
    let lines = text.split(separator: "\n")
    let damages = [
      text.replacingFirst("greeter", with: "greetar"), String(text.dropLast(5)), lines[0] + "\n", "",
      folder.read("revisions/\(good.revision)"),
    ]
    for damage in damages {
      folder.write(name, damage)
      #expect(throws: StoreError.self) { try archive.load(bad.revision) }
      let problem = #expect(throws: StoreError.self) { try archive.load(bad.revision) }
      #expect(problem?.description.contains("\(folder.path)/\(name)") == true)
      let reviewed = RevisionArchive(folder: folder("revisions"), toRead: true)
      reviewed.review()
      #expect(reviewed.problems.count == 1 && reviewed.problems == RevisionArchive.damages(in: folder("revisions")))
      #expect(try rebuild(RevisionArchive(folder: folder("revisions")), good.revision).revision == good.revision)
    }
    folder.write(name, "nonsense")
    #expect(RevisionArchive(folder: folder("revisions")).problems.count == 1)
    TemporaryFolder.remove(folder(name))
    #expect(throws: StoreError.self) { try archive.load(bad.revision) }
    #expect(throws: StoreError.self) { try archive.load("0000000000000000") }
    try archive.keep(bad, from: .promoted)
    #expect(try rebuild(archive, bad.revision).revision == bad.revision)
  }

  @Test func `a half-written file is removed, and a folder that can't be made is a problem`() throws {
    folder.write("revisions/0123456789abcdef.new", "half")
    #expect(RevisionArchive(folder: folder("revisions"), toRead: true).problems == [])
    #expect(TemporaryFolder.names(folder("revisions")) == ["0123456789abcdef.new"])
    #expect(RevisionArchive(folder: folder("revisions")).entries.isEmpty)
    #expect(TemporaryFolder.names(folder("revisions")) == [])
    folder.write("file", "")
    let archive = RevisionArchive(folder: folder("file/revisions"))
    #expect(archive.problems.count == 1)
    #expect(throws: StoreError.self) { try archive.keep(try catalog(), from: .folder) }
  }

  @Test func `the latest hundred and those that are needed stay`() throws {
    let archive = RevisionArchive(folder: folder("revisions"))
    var revisions: [String] = []
    for count in 0..<104 {
      let next = try catalog(String(repeating: " ", count: count))
      try archive.keep(next, from: .folder)
      revisions.append(next.revision)
    }
    #expect(try archive.removeUnneeded { $0 == revisions[1] } == 3)
    let kept = [revisions[1]] + revisions[4...]
    #expect(archive.entries.map(\.revision) == kept)
    #expect(Set(TemporaryFolder.names(folder("revisions"))) == Set(kept))
    #expect(try archive.removeUnneeded { _ in false } == 1)
  }

  @Test func `a revision that came into force again may have decided until it was replaced once more, over restarts`()
    throws
  {
    let archive = RevisionArchive(folder: folder("revisions"))
    func time(_ hours: Int64) -> Timestamp { Timestamp(microseconds: hours * 3_600_000_000) }
    let (first, second) = (try catalog(at: 0), try catalog(" ", at: 3_600))
    for catalog in [first, second] { try archive.keep(catalog, from: .folder) }
    try archive.noteUse(of: first.revision, until: time(1))
    // A rollback at three o'clock, and its end at nine.
    try archive.noteUse(of: second.revision, until: time(3))
    try archive.noteUse(of: first.revision, until: nil)
    #expect(archive.mayHaveDecided(first.revision, since: time(100)))
    try archive.noteUse(of: first.revision, until: time(9))
    let reopened = RevisionArchive(folder: folder("revisions"))
    for archive in [archive, reopened] {
      #expect(archive.mayHaveDecided(first.revision, since: time(9)))
      #expect(!archive.mayHaveDecided(first.revision, since: time(11)))
      #expect(archive.mayHaveDecided(second.revision, since: time(3)))
      #expect(!archive.mayHaveDecided(second.revision, since: time(5)))
      #expect(!archive.mayHaveDecided("0000000000000000", since: time(0)))
    }
    #expect(try rebuild(reopened, first.revision).revision == first.revision)
    // Killed before the end of its use was noted: it counts until the next start.
    try archive.noteUse(of: first.revision, until: nil)
    let killed = RevisionArchive(folder: folder("revisions"))
    killed.resume([second.revision], now: time(20))
    #expect(killed.mayHaveDecided(first.revision, since: time(20)))
    #expect(!killed.mayHaveDecided(first.revision, since: time(22)))
    #expect(killed.mayHaveDecided(second.revision, since: time(100)))
  }
}

extension String {
  fileprivate func replacingFirst(_ text: String, with other: String) -> String {
    guard let range = firstRange(of: text) else { return self }
    return replacingCharacters(range, other)
  }

  private func replacingCharacters(_ range: Range<String.Index>, _ other: String) -> String {
    String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
  }
}
