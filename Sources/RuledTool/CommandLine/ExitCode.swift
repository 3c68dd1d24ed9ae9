/// How a program ends, as its caller sees it.
package enum ExitCode: Int32, Sendable {
  /// What was asked for is done.
  case done = 0
  /// It was asked rightly and the answer is no: nothing is held on the subject, a test failed.
  case no = 1
  /// It was asked wrongly or cannot be done: an unknown option, no daemon, no permission.
  case failed = 2
}
