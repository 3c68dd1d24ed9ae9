/// What a shell offers for a value or an operand.
package enum Completion: Sendable, Equatable {
  /// Nothing: the value is free.
  case nothing
  case files
  case folders
  case words([String])
  /// What `PROGRAM completions WORD -- …` prints for the command's words so far, one a line.
  case asked(String)
}
