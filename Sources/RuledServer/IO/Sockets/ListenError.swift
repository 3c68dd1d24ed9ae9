/// Why a daemon can't listen on a socket path.
package enum ListenError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process answers there.
  case occupied(path: String)
  /// Something that is not a socket stands there.
  case notASocket(path: String)
  /// The path does not fit into a socket address.
  case invalidPath(path: String)
  /// A system call failed.
  case system(SystemError)

  /// One sentence that says what to do.
  package var description: String {
    switch self {
    case .occupied(let path):
      "\(path): another daemon answers on this socket; stop it or choose another with --socket"
    case .notASocket(let path):
      "\(path): exists and is not a socket; remove it or choose another path with --socket"
    case .invalidPath(let path):
      "\(path): not a socket path; it needs 1 to \(UnixAddress.maximumLength) bytes, choose a shorter one with --socket"
    case .system(let error):
      error.description
    }
  }
}
