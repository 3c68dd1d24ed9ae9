internal import RuledCore
internal import RuledEngine

/// The rules of a folder as they are sent to the daemon.
enum SentRules {
  /// Reads a folder of whole rules.
  static func read(_ path: String) throws -> JSONValue {
    do throws(ReloadError) { return try RulesFolder.read(path).encoded } catch {
      let lines = error.errors.map(\.description)
      throw ToolError(lines.joined(separator: "\n"), exit: .no)
    }
  }
}
