import RuledTool
import Testing

@Suite struct NewCommandTests {
  private let commands: [any Command.Type] = [NewCommand.self, CheckCommand.self, TestCommand.self]

  @Test func aNewPluginPassesItsTestsAndIsClean() {
    let folder = RulesFolderOnDisk([:])
    let made = Run(words: ["new", "welcome_2", "--rules", folder.path], more: commands)
    #expect(made.exit == .done, "\(made.errors)")
    let test = Run(words: ["test", folder.path, "--threshold", "100"], more: commands)
    #expect(test.exit == .done, "\(test.output)\(test.errors)")
    #expect(test.output.contains("2 tests passed"))
    let check = Run(words: ["check", folder.path], more: commands)
    #expect(check.output == "1 plugin, 1 rule, no findings\n")
  }

  @Test func whatExistsIsNotWrittenOver() {
    let folder = RulesFolderOnDisk(["welcome/plugin.lua": "mine"])
    let run = Run(words: ["new", "welcome", "--rules", folder.path], more: commands)
    #expect(run.exit == .failed)
    #expect(run.errors.contains("exists already"))
  }

  @Test(arguments: ["", "Big", "a-b", "1st", "../up", "lib", "a b", "é"]) func badNamesAreRefused(name: String) {
    let folder = RulesFolderOnDisk([:])
    #expect(Run(words: ["new", "--rules", folder.path, "--", name], more: commands).exit == .failed)
  }
}
