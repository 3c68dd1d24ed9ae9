import Glibc
import RuledCore
import Testing

@testable import RuledServer

/// Holds the manual page ruled(8) against the options; rulectl(1) is made from them.
@Suite struct ManualPageTests {
  private static let page: [Substring] = {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    guard let file = fopen("\(root)/docs/man/ruled.8.md", "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
  }()

  @Test func `ruled(8) describes exactly the options of ruled`() throws {
    let start = try #require(Self.page.firstIndex(of: "# OPTIONS"))
    let entries = Self.page[start...].dropFirst().prefix { !$0.hasPrefix("# ") }.filter { $0.hasPrefix("**-") }
    let options = ServeOptions.spec.options + ServeOptions.shared
    #expect(!entries.isEmpty)
    #expect(
      entries.map { String($0) }
        == options.map { option in
          let short = option.short.map { "**-\($0)**, " } ?? ""
          let isWord = option.completes == .words([option.value ?? ""])
          let mark = isWord ? "**" : "*"
          return short + "**--\(option.name)**" + (option.value.map { " \(mark)\($0)\(mark)" } ?? "")
        })
  }

  @Test func `the synopsis of ruled(8) is that of the help`() throws {
    let start = try #require(Self.page.firstIndex(of: "# SYNOPSIS"))
    let forms = Self.page[start...].dropFirst().prefix { !$0.hasPrefix("# ") }.filter { !$0.isEmpty }
    let plain = forms.map { String($0.filter { $0 != "*" }) }
    #expect(plain == ServeOptions.spec.usage(of: nil).map { $0.split(separator: "…").joined(separator: "...") })
  }
}
