/// Why a text is not JSON, and where.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong, in a few words.
  package var message: String
  /// The byte at which it was noticed, counted from 0.
  package var offset: Int

  /// An error at a byte.
  package init(_ message: String, at offset: Int) {
    self.message = message
    self.offset = offset
  }

  /// The message with its place.
  package var description: String { "\(message) at byte \(offset)" }
}
