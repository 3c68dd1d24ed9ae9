package import Glibc

package enum Program {
  /// Starts a program whose output goes to the end of a file.
  ///
  /// No signal is blocked in it, although the threads that run tests block all.
  package static func spawn(_ path: String, _ arguments: [String], output: String) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let status = posix_spawnp(&process, path, &actions, &attributes, &words, environ)
    precondition(status == 0, "\(path) can't be started: \(status)")
    return process
  }

  /// Runs a program to its end; returns its exit code and its output.
  package static func run(_ path: String, _ arguments: [String]) -> (code: Int32, output: String) {
    let folder = TemporaryFolder()
    let process = spawn(path, arguments, output: "\(folder.path)/out")
    return (wait(process), folder.read("out"))
  }

  /// Waits for a process to end and returns its exit code; kills one that hangs.
  package static func wait(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    if eventually({ waitpid(process, &status, WNOHANG) == process }) { return exitCode(status) }
    kill(process, SIGKILL)
    waitpid(process, &status, 0)
    return exitCode(status)
  }

  /// The exit code in a status of `waitpid`, or minus the signal that killed the process.
  package static func exitCode(_ status: Int32) -> Int32 {
    status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }
}
