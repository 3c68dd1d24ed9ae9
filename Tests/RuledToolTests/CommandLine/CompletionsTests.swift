import Glibc
import RuledTool
import Testing

/// Scripts for shells.
struct CompletionsTests {
  @Test(arguments: ["bash", "zsh", "fish"])
  func `Every command and option is in the script`(shell: String) {
    let run = Run("completions", shell)
    #expect(run.exit == .done)
    for command in CommandTable.ofDaemon {
      #expect(run.output.contains(command.spec.name))
      for option in command.spec.options { #expect(run.output.contains(option.name)) }
    }
  }

  @Test func `Another shell is refused`() {
    #expect(Run("completions", "tcsh").errors == "rulectl: 'tcsh' is not a shell it knows; write bash, zsh or fish\n")
  }

  @Test(arguments: [
    (["rulectl", "ev"], ["event"]), (["rulectl", "--socket", "x", "par"], ["parked"]),
    (["rulectl", "parked", "--pl"], ["--plugin"]), (["rulectl", "completions", "z"], ["zsh"]),
    (["rulectl", "help", "cl"], ["clock"]), (["rulectl", "event", "--data", "x"], []),
    (["rulectl", "explain", "/proc/self/statu"], ["/proc/self/status"]),
    (["rulectl", "--socket", "/proc/self/statu"], ["/proc/self/status"]),
  ])
  func `Bash completes by the script`(words: [String], expected: [String]) throws {
    let folder = try FakeDaemon.makeFolder()
    let path = folder + "/completions.bash"
    defer {
      unlink(path)
      rmdir(folder)
    }
    let handle = try #require(fopen(path, "w"))
    fputs(Run("completions", "bash").output, handle)
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    fputs("COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1); _rulectl; echo \"${COMPREPLY[@]}\"\n", handle)
    fclose(handle)
    let pipe = try #require(popen("bash \(path)", "r"))
    var line = [CChar](repeating: 0, count: 1024)
    fgets(&line, 1024, pipe)
    #expect(pclose(pipe) == 0)
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #expect(text == expected.joined(separator: " ") + "\n")
  }
}
