package import RuledCore

/// Executes the calls of a test.
package protocol TestHost: AnyObject {
  /// Executes `t:method(…)`; tables are JSON.
  func call(_ method: String, _ arguments: [JSONValue]) throws(TestFailure) -> [JSONValue]
}

/// Why a test's call was refused.
package struct TestFailure: Error, Sendable {
  var message: String

  /// A refusal with its reason.
  package init(_ message: String) { self.message = message }
}
