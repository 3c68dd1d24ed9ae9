import CJSON

package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Int32, Error, Sendable {
    case syntax = 1
    case utf8 = 2
    case depth = 3
    case number = 4
    case capacity = 5
    case memory = 6

    package var message: String { String(cString: cj_error_text(rawValue)) }
  }

  package let reason: Reason
  /// The byte from 0 at which it was noticed, or the start of the token that it is in.
  package let offset: Int

  package var message: String { reason.message }

  package var description: String { "\(message), at byte \(offset)" }
}
