import CJSON

/// Why a text is not JSON, and where.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Int32, Error, Sendable {
    case syntax = 1
    case utf8 = 2
    case depth = 3
    case number = 4
    case capacity = 5
    case memory = 6

    /// What is wrong, in a few words.
    package var message: String { String(cString: cj_error_text(rawValue)) }
  }

  package let reason: Reason
  /// The byte from 0 at which it was noticed, or the start of the token that it is in.
  package let offset: Int

  /// What is wrong, in a few words.
  package var message: String { reason.message }

  /// The message with its place.
  package var description: String { "\(message), at byte \(offset)" }
}
