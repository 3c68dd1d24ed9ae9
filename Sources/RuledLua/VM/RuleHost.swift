package import RuledCore

/// Answers rules while they run.
///
/// No answer raises or blocks.
package protocol RuleHost: AnyObject {
  /// Whether the plugin had not claimed the `once` key for the subject before the event.
  func isUnclaimed(once key: ByteView, of vm: PluginVM) -> Bool
  /// When the plugin's timer of that name was due before the event, in microseconds; nil when there was none.
  func timerDue(_ name: ByteView, of vm: PluginVM) -> Int64?
  /// Whether the subject was a member of the plugin's topic of that name before the event.
  func isMember(ofTopic name: ByteView, of vm: PluginVM) -> Bool
  func memberCount(ofTopic name: ByteView, of vm: PluginVM) -> Int
  /// Appends the counters whose name begins with `prefix` as a JSON array, or returns false if there are more than `most`; returns early, with
  /// some of them, once `isOver` is true.
  func counters(prefix: ByteView, most: Int, into buffer: ByteBuffer, until isOver: () -> Bool) -> Bool
  /// Appends places of a board of the plugin as a JSON array; returns early, with some of them, once `isOver` is true.
  func places(
    _ selection: BoardSelection, onBoard name: ByteView, of vm: PluginVM, into buffer: ByteBuffer,
    until isOver: () -> Bool)
  /// The rank of a subject on a board of the plugin, from 1 on; nil when it is not on it.
  func rank(of subject: ByteView, onBoard name: ByteView, of vm: PluginVM) -> Int?
  func placeCount(onBoard name: ByteView, of vm: PluginVM) -> Int
  /// Checks the data of an event that a rule makes, as JSON, against the plugins' declarations of the type.
  func checkData(_ data: ByteView, ofType type: ByteView) throws(SchemaMismatch)
  /// Appends another plugin's state before the event as JSON; false when there is none.
  func peek(plugin: ByteView, into buffer: ByteBuffer) -> Bool
  /// Appends the identity of the event, from which rules' ids are derived.
  func identity(into buffer: ByteBuffer)
  func subject(into buffer: ByteBuffer)
}
