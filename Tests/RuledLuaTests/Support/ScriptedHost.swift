import RuledCore

@testable import RuledLua

/// Answers what rules ask from what a test has laid ready.
final class ScriptedHost: RuleHost {
  /// The `once` keys that earlier events claimed.
  var claimed: Set<String> = []
  /// When timers are due, in microseconds.
  var timers: [String: Int64] = [:]
  /// The topics that the subject is a member of.
  var topics: Set<String> = []
  var counters = "[]"
  /// Other plugins' states, as JSON.
  var states: [String: String] = [:]
  var identity = "source/id"

  func isUnclaimed(once key: ByteView, of vm: PluginVM) -> Bool {
    !claimed.contains(String(decoding: key, as: UTF8.self))
  }

  func timerDue(_ name: ByteView, of vm: PluginVM) -> Int64? {
    timers[String(decoding: name, as: UTF8.self)]
  }

  func isMember(ofTopic name: ByteView, of vm: PluginVM) -> Bool {
    topics.contains(String(decoding: name, as: UTF8.self))
  }

  func memberCount(ofTopic name: ByteView, of vm: PluginVM) -> Int { topics.count }

  func counters(prefix: ByteView, most: Int, into buffer: ByteBuffer, until isOver: () -> Bool) -> Bool {
    buffer.append(contentsOf: counters)
    return true
  }

  func places(
    _ selection: BoardSelection, onBoard name: ByteView, of vm: PluginVM, into buffer: ByteBuffer,
    until isOver: () -> Bool
  ) {
    buffer.append("[]" as StaticString)
  }

  func rank(of subject: ByteView, onBoard name: ByteView, of vm: PluginVM) -> Int? { nil }

  func placeCount(onBoard name: ByteView, of vm: PluginVM) -> Int { 0 }

  func checkData(_ data: ByteView, ofType type: ByteView) throws(SchemaMismatch) {}

  func peek(plugin: ByteView, into buffer: ByteBuffer) -> Bool {
    guard let state = states[String(decoding: plugin, as: UTF8.self)] else { return false }
    buffer.append(contentsOf: state)
    return true
  }

  func identity(into buffer: ByteBuffer) { buffer.append(contentsOf: identity) }

  func subject(into buffer: ByteBuffer) { buffer.append(contentsOf: "user:1") }
}
