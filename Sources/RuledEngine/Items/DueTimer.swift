/// A timer that is due.
package struct DueTimer: Sendable, Hashable {
  /// When it is due, in microseconds.
  package let due: Int64
  /// The subject that it belongs to.
  package let subject: [UInt8]
  /// The plugin that set it.
  package let plugin: [UInt8]
  package let name: [UInt8]

  package init(due: Int64, subject: [UInt8], plugin: [UInt8], name: [UInt8]) {
    self.due = due
    self.subject = subject
    self.plugin = plugin
    self.name = name
  }
}
