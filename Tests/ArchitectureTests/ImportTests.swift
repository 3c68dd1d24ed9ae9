import Glibc
import Testing

/// The package manager does not police which module a file imports as long as it was built before; this does.
@Suite struct ImportTests {
  /// What each module may import beside the standard library and Glibc.
  static let allowed: [String: Set<String>] = [
    "RuledCore": ["Synchronization"],
    "RuledThreads": ["CLinux"],
    "RuledJSON": ["RuledCore", "CJSON"],
    "RuledLua": ["RuledCore", "RuledJSON", "CLuaBridge", "CJSON"],
    "RuledStore": ["RuledCore", "RuledThreads", "CLinux", "CRocksDB", "CRocksEnv"],
    "RuledEngine": ["RuledCore", "RuledJSON", "RuledLua", "RuledStore", "CLinux", "CLuaBridge", "CJSON"],
    "RuledWire": ["RuledCore", "RuledJSON"],
    "RuledServer": [
      "RuledCore", "RuledJSON", "RuledThreads", "RuledEngine", "RuledLua", "RuledStore", "RuledWire", "CUV", "CCurl",
      "CLinux", "CSystemd",
    ],
    "RuledTool": ["RuledCore", "RuledJSON", "RuledEngine", "RuledLua", "RuledStore", "RuledWire"],
    "ruled": ["RuledServer"],
    "rulectl": ["RuledTool"],
  ]

  @Test(arguments: allowed.keys.sorted())
  func `a module imports only what its place in the architecture allows`(module: String) throws {
    let files = Self.files(in: Self.root + "/Sources/" + module)
    #expect(!files.isEmpty, "no sources found for \(module)")
    let allowed = try #require(Self.allowed[module]).union(["Glibc", "Synchronization"])
    for file in files {
      for imported in Self.imports(of: file) {
        #expect(allowed.contains(imported), "\(file) imports \(imported)")
      }
    }
  }

  @Test func `every module is listed`() {
    let folders = Self.entries(of: Self.root + "/Sources").filter { !$0.hasPrefix("C") }
    #expect(Set(folders) == Set(Self.allowed.keys))
  }

  static var root: String { String(#filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }) }

  static func entries(of folder: String) -> [String] {
    guard let handle = opendir(folder) else { return [] }
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  static func files(in folder: String) -> [String] {
    entries(of: folder).flatMap { name in
      name.hasSuffix(".swift") ? ["\(folder)/\(name)"] : name.contains(".") ? [] : files(in: "\(folder)/\(name)")
    }
  }

  static func imports(of file: String) -> [String] {
    guard let handle = fopen(file, "r") else { return [] }
    defer { fclose(handle) }
    var names: [String] = []
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, Int32(line.count), handle) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let words = text.split(whereSeparator: \.isWhitespace)
      guard let place = words.firstIndex(of: "import"), place < 2, place + 1 < words.count else { continue }
      names.append(String(words[place + 1].prefix { $0 != "." }))
    }
    return names
  }
}
