import Testing

/// Checks the arrows between the modules: SwiftPM accepts an undeclared import of any module that happens to be built before.
@Suite struct ImportTests {
  /// The modules that each module may import besides the standard library, Glibc and Synchronization.
  static let allowed: [String: Set<String>] = [
    "RuledCore": ["CDigest"],
    "RuledThreads": ["CLinux"],
    "RuledJSON": ["RuledCore", "CJSON"],
    "RuledIO": ["RuledCore", "RuledJSON", "RuledThreads", "CSystemd", "CUV"],
    "RuledLua": ["RuledCore", "RuledJSON", "CLuaBridge"],
    "RuledStore": ["RuledCore", "RuledThreads", "CLinux", "CRocksDB", "CRocksEnv"],
    "RuledCluster": ["RuledCore", "RuledThreads", "RuledStore", "CCurl", "CPQ"],
    "RuledJournal": ["RuledCore", "RuledJSON", "RuledThreads", "RuledStore", "CLinux", "CZstd"],
    "RuledEngine": ["RuledCore", "RuledJSON", "RuledJournal", "RuledLua", "RuledStore", "CLinux", "CTLS"],
    "RuledReplay": [
      "RuledCore", "RuledJSON", "RuledThreads", "RuledJournal", "RuledLua", "RuledStore", "RuledEngine",
    ],
    "RuledReports": ["RuledCore", "RuledJSON", "RuledJournal", "RuledReplay"],
    "RuledPeers": ["RuledCore", "RuledThreads", "RuledIO", "CTLS"],
    "RuledWire": ["RuledCore", "RuledJSON", "COpenAPI"],
    "RuledDelivery": ["RuledCore", "RuledIO", "RuledJSON", "RuledWire", "CCurl"],
    "RuledServing": [
      "RuledCore", "RuledJSON", "RuledThreads", "RuledDelivery", "RuledEngine", "RuledIO", "RuledJournal", "RuledLua",
      "RuledReplay", "RuledReports", "RuledStore", "RuledWire", "CLinux",
    ],
    "RuledNodes": [
      "RuledCore", "RuledJSON", "RuledThreads", "RuledCluster", "RuledEngine", "RuledIO", "RuledJournal", "RuledLua",
      "RuledPeers", "RuledServing", "RuledStore", "RuledWire",
    ],
    "RuledDaemon": [
      "RuledCore", "RuledThreads", "RuledCluster", "RuledEngine", "RuledIO", "RuledJournal", "RuledLua", "RuledNodes",
      "RuledServing", "RuledStore", "CLinux",
    ],
    "RuledTool": [
      "RuledCore", "RuledJSON", "RuledThreads", "RuledEngine", "RuledJournal", "RuledLua", "RuledReplay",
      "RuledReports", "RuledStore", "RuledWire", "CEdit", "CLinux",
    ],
    "ruled": ["RuledDaemon"],
    "ruled-courier": ["RuledDelivery", "RuledIO", "RuledLua"],
    "rulectl": ["RuledTool"],
  ]

  @Test(arguments: allowed.keys.sorted())
  func `a module imports only modules that it may depend on`(module: String) throws {
    let files = Repository.files(in: "\(Repository.root)/Sources/\(module)", endingIn: [".swift"])
    #expect(!files.isEmpty, "no sources found for \(module)")
    let allowed = try #require(Self.allowed[module]).union(["Glibc", "Synchronization"])
    for file in files {
      for imported in Self.imports(of: file) {
        #expect(allowed.contains(imported), "\(file) imports \(imported)")
      }
    }
  }

  @Test func `every Swift module is listed`() {
    let folders = Repository.entries(of: Repository.root + "/Sources").filter { !$0.hasPrefix("C") }
    #expect(Set(folders) == Set(Self.allowed.keys))
  }

  /// The modules that a file imports.
  static func imports(of file: String) -> [String] {
    Repository.lines(of: file).compactMap { line in
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let keyword = words.firstIndex(of: "import"), keyword < 2, keyword + 1 < words.count else { return nil }
      return String(words[keyword + 1].prefix { $0 != "." })
    }
  }
}
