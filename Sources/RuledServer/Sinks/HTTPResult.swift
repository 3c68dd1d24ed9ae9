/// What came of a request.
enum HTTPResult {
  /// There was an answer, and how many seconds it asks to wait, 0 when it does not.
  case answered(status: Int, retryAfter: Int)
  /// There was none, for a reason that another try may not meet.
  case failed(String)
  /// It can't be sent at all.
  case refused(String)
}
