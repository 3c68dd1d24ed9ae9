package struct LogLine: Sendable {
  package enum Level: Int, Sendable { case debug = 0, info, warn, error }

  package let time = Timestamp.wall
  package var level: Level
  package var message: String
  package var plugin: String?
  package var rule: String?
  /// The id of the event that it is about.
  package var event: String?
  /// A hash of the subject's name, which itself is never logged.
  package var subjectHash: String?
  /// Further members of the line, a JSON object or empty.
  package var fields = ""

  package init(
    _ level: Level, _ message: String, plugin: String? = nil, rule: String? = nil, event: String? = nil,
    subjectHash: String? = nil, fields: String = ""
  ) {
    self.level = level
    self.message = message
    self.plugin = plugin
    self.rule = rule
    self.event = event
    self.subjectHash = subjectHash
    self.fields = fields
  }

  package static func hash(of subject: ByteView) -> String { String(SHA256.hash(subject).hex.prefix(12)) }
}
