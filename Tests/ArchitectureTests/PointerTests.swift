import Testing

/// Checks that pointers stay where C is called: signatures elsewhere have `ByteView`.
@Suite struct PointerTests {
  /// The folders and files of `Sources` whose signatures may have pointers; `scripts/house` has the same list with the reasons.
  static let allowed = [
    "RuledCluster/Objects/", "RuledCluster/Postgres/", "RuledCore/Bytes/", "RuledDelivery/HTTP/", "RuledIO/",
    "RuledJSON/", "RuledJournal/", "RuledLua/", "RuledPeers/TLS/", "RuledStore/", "RuledThreads/",
  ]

  @Test func `no signature above the code that calls C has a pointer`() {
    let root = Repository.root + "/Sources/"
    let files = Repository.files(in: Repository.root + "/Sources", endingIn: [".swift"])
    #expect(files.count > 100)
    for file in files {
      guard !Self.allowed.contains(where: { file.dropFirst(root.count).hasPrefix($0) }) else { continue }
      for signature in Self.signatures(in: Repository.lines(of: file)) {
        #expect(!Self.hasPointer(signature), "\(file): use ByteView, an array or a span: \(signature)")
      }
    }
  }

  @Test func `pointers are noticed, also over several lines, and not in private declarations`() {
    let source: [Substring] = [
      "struct A {", "  func a(", "    _ b: UnsafeRawPointer", "  ) -> Int {", "  private let c: OpaquePointer",
      "  let d: [UInt8]", "  var e: UnsafeBufferPointer<UInt8> { f }", "      let local: UnsafeRawPointer", "}",
    ]
    let found = Self.signatures(in: source).filter { Self.hasPointer($0) }
    #expect(found == ["func a( _ b: UnsafeRawPointer ) -> Int {", "var e: UnsafeBufferPointer<UInt8> { f }"])
  }

  @Test func `the figures of the house count the same files`() {
    let house = Repository.text(of: Repository.root + "/scripts/house")
    for folder in Self.allowed { #expect(house.contains("  \"\(folder)\": \""), "scripts/house lacks \(folder)") }
  }

  private static let keywords: Set<Substring> = ["func", "init", "subscript", "var", "let", "case"]

  /// The declarations of a file that other files can see, each as one line.
  private static func signatures(in lines: [Substring]) -> [String] {
    var found: [String] = []
    var depth = 0
    for line in lines where !line.drop(while: { $0 == " " }).hasPrefix("//") {
      let code = line.drop { $0 == " " }
      if depth > 0 {
        found[found.count - 1] += " " + code
      } else {
        let words = code.split { !$0.isLetter }
        guard line.count - code.count <= 4, let keyword = words.prefix(6).firstIndex(where: { keywords.contains($0) }),
          !words[..<keyword].contains("private")
        else { continue }
        found.append(String(code))
      }
      depth += line.count { $0 == "(" } - line.count { $0 == ")" }
    }
    return found
  }

  private static func hasPointer(_ signature: String) -> Bool {
    let head = signature.split(separator: " = ", maxSplits: 1).first ?? ""
    let type = head.split(separator: " {", maxSplits: 1).first ?? ""
    return type.contains("Unsafe") && type.contains("Pointer") || type.contains("OpaquePointer")
  }
}
