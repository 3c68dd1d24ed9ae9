import RuledTool
import TestSupport
import Testing

struct FormatCommandTests {
  private static let project = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

  @Test func `Files are laid out in place, and --check only names them`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": "if x then\ny( 1 )\nend\n", "p/tests/t.lua": "x = 1\n", ".definitions/d.lua": "x=1",
      "p/data.json": "[1]",
    ])
    let check = Run("fmt", "--check", folder.path)
    #expect(check.exit == .no)
    #expect(check.output == "\(folder.path)/p/plugin.lua\n2 files, 1 to be laid out\n")
    #expect(TemporaryFolder.read("\(folder.path)/p/plugin.lua").contains("y( 1 )"))
    #expect(Run("fmt", folder.path).output.hasSuffix("2 files, 1 laid out\n"))
    #expect(TemporaryFolder.read("\(folder.path)/p/plugin.lua") == "if x then\n  y(1)\nend\n")
    #expect(TemporaryFolder.read("\(folder.path)/.definitions/d.lua") == "x=1")
    #expect(Run("fmt", "--check", folder.path).exit == .done)
  }

  @Test func `A file that is no Lua is left as it is, with its line, and the others are laid out`() {
    let folder = RulesFolderOnDisk(["p/a.lua": "x = = 1", "p/b.lua": "x=1"])
    let run = Run("fmt", "\(folder.path)/p")
    #expect(run.exit == .failed)
    #expect(run.errors == "rulectl: \(folder.path)/p/a.lua:1: unexpected symbol near '='\n")
    #expect(TemporaryFolder.read("\(folder.path)/p/a.lua") == "x = = 1")
    #expect(TemporaryFolder.read("\(folder.path)/p/b.lua") == "x = 1\n")
    #expect(Run("fmt", "/nonexistent.lua").errors.contains("cannot read '/nonexistent.lua'"))
  }

  @Test func `A file that would be too large to load is left as it is`() {
    let text = "local t = {\n" + String(repeating: "\"a\",\n", count: 50_000) + "}\n"
    let folder = RulesFolderOnDisk(["p/a.lua": text])
    let run = Run("fmt", "\(folder.path)/p")
    #expect(run.exit == .failed && run.errors.contains("would be larger than 256 KiB"))
    #expect(TemporaryFolder.read("\(folder.path)/p/a.lua") == text)
  }

  @Test func `Standard input is laid out to standard output`() {
    #expect(Run("fmt", "-", input: "x=1").output == "x = 1\n")
    #expect(Run("fmt", "-", "--check", input: "x=1").exit == .no)
  }

  @Test func `The shipped rules and a new plugin are laid out`() {
    let run = Run("fmt", "--check", "\(Self.project)/rules", "\(Self.project)/Torture/rules")
    #expect(run.exit == .done && run.output.hasSuffix(", 0 to be laid out\n"))
    let folder = TemporaryFolder()
    #expect(Run("new", "greeter", "--rules", folder("rules")).exit == .done)
    #expect(Run("fmt", "--check", folder("rules")).exit == .done)
  }
}
