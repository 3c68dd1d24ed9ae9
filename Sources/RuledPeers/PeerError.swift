package import RuledIO

package enum PeerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A certificate, a key or an authority can't be used.
  case identity(String)
  case unknownHost(String)
  case system(SystemError)
  case stopped

  /// The problem, and its remedy if there is a known one.
  package var description: String {
    switch self {
    case .identity(let why): "\(why); cluster.certificate, key and authority name PEM files that belong together"
    case .unknownHost(let why): "the host has no address: \(why)"
    case .system(let error): "\(error.call): \(SystemError.text(of: error.number))"
    case .stopped: "the thread of the links has stopped"
    }
  }
}
