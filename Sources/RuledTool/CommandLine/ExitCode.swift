package enum ExitCode: Int32, Sendable {
  case done = 0
  /// The answer is no: nothing is stored for the subject, a test failed.
  case no = 1
  /// Wrong use, or it cannot be done: an unknown option, no daemon, no permission.
  case failed = 2
}
