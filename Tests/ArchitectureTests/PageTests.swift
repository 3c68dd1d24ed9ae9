import Glibc
import Testing

/// Checks that the pages name only what exists: functions, types, folders and links.
@Suite struct PageTests {
  static let page = Repository.lines(of: Repository.root + "/docs/architecture.md")
  static let pages =
    Repository.files(in: Repository.root + "/docs", endingIn: [".md"])
    + [
      "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Torture/README.md", "Benchmarks/README.md",
      "Benchmarks/notes.md",
    ].map { "\(Repository.root)/\($0)" }
  /// Sources and tests by path.
  static let code: [(path: String, text: String)] = ["Sources", "Tests"].flatMap { folder in
    Repository.files(in: "\(Repository.root)/\(folder)", endingIn: [".swift", ".c", ".h", ".cpp", ".cc"])
      .map { ($0, Repository.text(of: $0)) }
  }
  /// Names on the pages that belong to other programs.
  static let foreign: Set<String> = [
    "IngestExternalFile", "Env", "TasksMax", "PrivateUsers", "AppDelegate", "AppInstall", "AppLaunch",
  ]

  /// The functions in the walk of one event.
  static let walk: [String] = {
    let start = page.firstIndex { $0.hasPrefix("## The walk") } ?? page.endIndex
    let fenced = page[start...].split { $0.hasPrefix("```") }
    return fenced.dropFirst().first.map { $0.compactMap { $0.split(separator: " ").first.map(String.init) } } ?? []
  }()

  @Test func `the walk of one event is found on the page`() {
    #expect(Self.walk.count > 8)
    #expect(Self.walk.allSatisfy { $0.split(separator: ".").count == 2 })
  }

  @Test func `the walk opens fewer than 35 files, and no function's name stands twice on it`() {
    let names = Self.walk.compactMap { $0.split(separator: ".").last }
    #expect(names.count == Set(names).count, "\(names.filter { name in names.count { $0 == name } > 1 })")
    let files = Self.walk.compactMap { function in
      let parts = function.split(separator: ".").map { String($0) }
      return Self.code.first {
        $0.path.contains("/Sources/") && Self.isFile($0.path, of: parts[0]) && Self.declares($0.text, parts[1])
      }
    }
    #expect(Set(files.map(\.path)).count < 35)
  }

  @Test(arguments: walk)
  func `each function of the walk is in a file of its type`(function: String) throws {
    let parts = function.split(separator: ".")
    try #require(parts.count == 2)
    let files = Self.code.filter { $0.path.contains("/Sources/") && Self.isFile($0.path, of: parts[0]) }
    #expect(!files.isEmpty, "there is no file \(parts[0]).swift")
    #expect(files.contains { Self.declares($0.text, String(parts[1])) }, "no file of \(parts[0]) declares \(parts[1])")
  }

  /// Each type that conforms to a protocol has a function for each of its requirements, which have no body.
  @Test(arguments: walk)
  func `a search for a step of the walk finds one type, or a requirement of a protocol`(step: String) {
    let name = step.split(separator: ".").last.map(String.init) ?? ""
    let found = Self.functions[name] ?? []
    guard !found.contains(where: \.isRequirement) else { return }
    let others = found.map(\.path).filter { !Self.isFile($0, of: step.prefix { $0 != "." }) }
    #expect(others.isEmpty, "\(others) have \(name) too")
  }

  /// The functions in Sources by name, each with its file.
  private static let functions: [String: [(path: String, isRequirement: Bool)]] = {
    var found: [String: [(path: String, isRequirement: Bool)]] = [:]
    for file in code where file.path.contains("/Sources/") && file.path.hasSuffix(".swift") {
      for line in file.text.split(separator: "\n") {
        let words = line.split { !$0.isLetter && !$0.isNumber }
        guard let index = words.firstIndex(of: "func"), index + 1 < words.count, !line.contains("//") else { continue }
        let hasBody = line.last.map { "{}(".contains($0) } ?? false
        found[String(words[index + 1]), default: []].append((file.path, !hasBody))
      }
    }
    return found
  }()

  /// Whether a file is one of a type.
  static func isFile(_ path: String, of type: some StringProtocol) -> Bool {
    let name = path.split(separator: "/").last ?? ""
    return name == "\(type).swift" || name.hasPrefix("\(type)+")
  }

  /// Whether a text declares a function of that name.
  static func declares(_ text: String, _ function: String) -> Bool {
    ["(", "<"].contains { text.contains("func \(function)\($0)") }
  }

  @Test func `the table of modules lists exactly the folders of Sources`() {
    let start = Self.page.firstIndex { $0.hasPrefix("| folder in") } ?? Self.page.endIndex
    let rows = Self.page[start...].dropFirst(2).prefix { $0.hasPrefix("|") }
    let listed = rows.flatMap { Self.names(in: $0.dropFirst().prefix { $0 != "|" }) }
    #expect(listed.sorted() == Repository.entries(of: Repository.root + "/Sources"))
  }

  /// The words of a text that stand between backquotes.
  static func names(in text: some StringProtocol) -> [String] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }

  @Test func `each test of a rule that the page of products names exists`() {
    let tests = Repository.files(in: Repository.root + "/rules", endingIn: [".lua"]).map(Repository.text).joined()
    for line in Repository.lines(of: Repository.root + "/docs/products.md") where line.hasPrefix("|") {
      let column = line.split(separator: "|").last ?? ""
      for quoted in column.split(separator: "“").dropFirst() {
        let title = quoted.prefix { $0 != "”" && $0 != "…" }
        #expect(tests.contains("\"\(title)"), "there is no test “\(title)”")
      }
    }
  }

  @Test(arguments: pages)
  func `each type and C function that a page names exists`(page: String) {
    var isFenced = false
    for line in Repository.lines(of: page) {
      if line.hasPrefix("```") { isFenced.toggle() }
      guard !isFenced else { continue }
      for name in Self.names(in: line) where Self.isOurs(name) {
        let type = String(name.split(separator: ".")[0].split(separator: "+")[0])
        if Self.alerts.contains("alert: \(type)\n") { continue }
        #expect(Self.occurs(type), "\(page) names \(name)")
      }
    }
  }

  /// All paths and texts of the code, one after the other, with a zero at the end.
  private static let everything: [UInt8] = code.flatMap { Array(($0.path + $0.text).utf8) } + [0]

  /// Whether a name occurs in the code; by the C library, as a debug build of Swift's search takes seconds.
  private static func occurs(_ name: String) -> Bool {
    everything.withUnsafeBytes { code in
      code.assumingMemoryBound(to: CChar.self).baseAddress.flatMap { strstr($0, name) } != nil
    }
  }

  /// The alert rules, whose names look like types.
  private static let alerts = Repository.text(of: Repository.root + "/packaging/prometheus/ruled.rules.yml")

  /// Whether a name looks like a Swift type, with a member or an aspect, or like a function of our C modules.
  static func isOurs(_ name: String) -> Bool {
    if ["rb_", "cj_", "cl_"].contains(where: { name.hasPrefix($0) }) {
      return name.allSatisfy { $0.isLetter || $0 == "_" }
    }
    guard name.first?.isUppercase == true, name.dropFirst().contains(where: \.isUppercase), !foreign.contains(name)
    else {
      return false
    }
    return name.contains(where: \.isLowercase) && name.allSatisfy { $0.isLetter || $0 == "." || $0 == "+" }
      && (name.prefix { $0 != "." && $0 != "+" }.contains(where: \.isLowercase))
  }

  @Test(arguments: pages)
  func `each link of a page leads to a file and a heading`(page: String) {
    let folder = page.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    for link in Self.links(in: Repository.text(of: page)) where !link.contains("://") {
      let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let target = parts[0].isEmpty ? page : "\(folder)/\(parts[0])"
      #expect(Repository.exists(target), "\(page) links to \(link)")
      guard parts.count == 2 else { continue }
      let anchors = Repository.lines(of: target).filter { $0.hasPrefix("#") }.map(Self.anchor)
      #expect(anchors.contains(String(parts[1])), "\(page) links to \(link)")
    }
  }

  /// The targets of a page's links.
  static func links(in text: String) -> [Substring] {
    text.split(separator: "](", omittingEmptySubsequences: false).dropFirst().map { $0.prefix { $0 != ")" } }
  }

  /// The anchor of a heading.
  static func anchor(of heading: Substring) -> String {
    let words = heading.drop { $0 == "#" || $0 == " " }.lowercased()
    return String(
      words.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }.map { $0 == " " ? "-" : $0 })
  }
}
