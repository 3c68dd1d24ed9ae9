import Glibc
import RuledCore
import Testing

@testable import RuledDaemon
@testable import RuledDelivery

/// Holds the manual pages and completions of the programs that have no commands against their options; those of rulectl are made from them.
@Suite struct ManualPageTests {
  /// A program: its name, and what it takes.
  struct Program: Sendable, CustomTestStringConvertible {
    let name: String
    let spec: CommandSpec
    let options: [OptionSpec]
    var testDescription: String { name }
  }

  private static let programs = [
    Program(name: "ruled", spec: ServeOptions.spec, options: ServeOptions.spec.options + ServeOptions.shared),
    Program(
      name: "ruled-courier", spec: CourierCommand.spec, options: CourierCommand.spec.options + CourierCommand.shared),
  ]

  /// The lines of a file of the sources.
  private static func lines(_ path: String) -> [Substring] {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    guard let file = fopen("\(root)/\(path)", "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The lines of a section of a manual page.
  private static func section(_ title: String, of program: Program) throws -> ArraySlice<Substring> {
    let page = lines("docs/man/\(program.name).8.md")
    let start = try #require(page.firstIndex(of: "# \(title)"))
    return page[start...].dropFirst().prefix { !$0.hasPrefix("# ") }
  }

  @Test(arguments: programs)
  func `a manual page describes exactly the options`(_ program: Program) throws {
    let entries = try Self.section("OPTIONS", of: program).filter { $0.hasPrefix("**-") }
    #expect(!entries.isEmpty)
    #expect(
      entries.map { String($0) }
        == program.options.map { option in
          let short = option.short.map { "**-\($0)**, " } ?? ""
          let isWord = option.completes == .words([option.value ?? ""])
          let mark = isWord ? "**" : "*"
          return short + "**--\(option.name)**" + (option.value.map { " \(mark)\($0)\(mark)" } ?? "")
        })
  }

  @Test(arguments: programs)
  func `the synopsis of a manual page is that of the help`(_ program: Program) throws {
    let forms = try Self.section("SYNOPSIS", of: program).filter { !$0.isEmpty }
    let plain = forms.map { String($0.filter { $0 != "*" }) }
    #expect(plain == program.spec.usage(of: nil).map { $0.split(separator: "…").joined(separator: "...") })
  }

  @Test(arguments: programs)
  func `completions have exactly the options`(_ program: Program) throws {
    let names = program.options.map(\.name).sorted()
    let file = "packaging/completions/\(program.name)"
    let bash = Self.lines("\(file).bash").last { $0.contains("compgen -W \"--") } ?? ""
    let words = bash.split { " \"".contains($0) }.filter { $0.hasPrefix("--") && $0 != "--" }
    #expect(words.map { String($0.dropFirst(2)) }.sorted() == names)
    let fish = Self.lines("\(file).fish").compactMap { line -> String? in
      let words = line.split(separator: " ")
      return words.firstIndex(of: "-l").map { String(words[$0 + 1]) }
    }
    #expect(fish.sorted() == names)
    let zsh = Self.lines("\(file).zsh").compactMap { line -> String? in
      guard let start = line.firstRange(of: "--") else { return nil }
      return String(line[start.upperBound...].prefix { $0.isLetter || $0 == "-" })
    }
    #expect(zsh.sorted() == names)
    for short in program.options.compactMap(\.short) {
      #expect(Self.lines("\(file).fish").contains { $0.contains(" -s \(short) ") }, "\(short)")
      #expect(Self.lines("\(file).zsh").contains { $0.contains("{-\(short),") }, "\(short)")
    }
  }
}
