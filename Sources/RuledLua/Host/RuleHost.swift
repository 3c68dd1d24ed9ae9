package import RuledCore

/// What a rule asks of the world while it runs.
///
/// The engine answers; no answer raises or blocks.
package protocol RuleHost: AnyObject {
  /// Whether `once` had not been claimed by this plugin for this subject before the event.
  func isUnclaimed(once key: UnsafeRawBufferPointer, of vm: PluginVM) -> Bool
  /// When the plugin's timer of that name was due as the event came, in microseconds, or nil when there was none.
  func timerDue(_ name: UnsafeRawBufferPointer, of vm: PluginVM) -> Int64?
  /// Appends the counters whose name begins with `prefix` as a JSON array.
  func counters(prefix: UnsafeRawBufferPointer, into buffer: ByteBuffer)
  /// Appends another plugin's state, JSON, as it stood before the event; false when there is none.
  func peek(plugin: UnsafeRawBufferPointer, into buffer: ByteBuffer) -> Bool
  /// Appends what tells the event from all others: ids that a rule makes are derived from it.
  func identity(into buffer: ByteBuffer)
  /// Appends the subject of the event.
  func subject(into buffer: ByteBuffer)
}

/// What a test asks of its driver.
package protocol TestHost: AnyObject {
  /// Carries out `t:method(…)`; tables come as JSON text.
  func call(_ method: String, _ arguments: [JSONValue]) throws(TestFailure) -> [JSONValue]
}

/// Why a test's call was refused.
package struct TestFailure: Error, Sendable {
  /// What is wrong with the call.
  package var message: String

  /// A refusal with its reason.
  package init(_ message: String) { self.message = message }
}
