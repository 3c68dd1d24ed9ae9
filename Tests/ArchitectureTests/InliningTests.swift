import Testing

/// Checks that members marked to be inlined across modules can be: the compiler never inlines the members of a `package` type there.
@Suite struct InliningTests {
  @Test func `no inlinable member belongs to a package type`() {
    let files = Repository.files(in: Repository.root + "/Sources", endingIn: [".swift"])
    var found = 0
    for file in files {
      for (type, isInlined, line) in Self.inlinableMembers(of: Repository.lines(of: file)) {
        found += 1
        #expect(isInlined, "\(file):\(line): make \(type) public, or else nothing of it is inlined in other modules")
      }
    }
    #expect(found > 0, "no inlinable members found")
  }

  @Test func `a package type is noticed`() {
    let source = [
      "package struct A {", "  @inlinable", "  package func b() {}", "}", "", "public struct C {",
      "  @inlinable package func d() {}", "}",
    ]
    let found = Self.inlinableMembers(of: source)
    #expect(found.map(\.type) == ["A", "C"])
    #expect(found.map(\.isInlined) == [false, true])
  }

  /// The type around each inlinable member of a file, whether the compiler inlines it, and the member's line.
  static func inlinableMembers(of lines: [some StringProtocol]) -> [(type: String, isInlined: Bool, line: Int)] {
    var open: [(indent: Int, type: String, isInlined: Bool)] = []
    var found: [(type: String, isInlined: Bool, line: Int)] = []
    for (index, line) in lines.enumerated() {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let first = words.first, !first.hasPrefix("//") else { continue }
      let indent = line.prefix { $0 == " " }.count
      while let last = open.last, last.indent >= indent { open.removeLast() }
      if words.contains("@inlinable"), let type = open.last { found.append((type.type, type.isInlined, index + 1)) }
      guard let kind = words.firstIndex(where: { ["struct", "class", "enum", "extension"].contains($0) }),
        kind + 1 < words.count,
        words[..<kind].allSatisfy({ ["public", "package", "private", "final", "indirect"].contains($0) })
      else { continue }
      let name = String(words[kind + 1].prefix { $0.isLetter || $0.isNumber })
      open.append((indent, name, !words[..<kind].contains("package")))
    }
    return found
  }
}
