import Glibc

/// Lets the operating system refuse file growth, as a full disk does.
enum FileSizeLimit {
  /// Runs `body` while no file of this process may grow beyond `bytes`.
  static func with<Result>(bytes: UInt, _ body: () throws -> Result) throws -> Result {
    signal(SIGXFSZ, SIG_IGN)
    var usual = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &usual)
    var limited = usual
    limited.rlim_cur = bytes
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limited)
    defer { setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &usual) }
    return try body()
  }
}
