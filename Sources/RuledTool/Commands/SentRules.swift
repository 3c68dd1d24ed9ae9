internal import RuledCore
internal import RuledEngine

/// The rules of a folder as they are sent to the daemon.
enum SentRules {
  /// The longest part of an upload, in bytes: as JSON it takes twice as much at most.
  private static let partBytes = 256 << 10

  static func read(_ path: String) throws -> JSONValue {
    do throws(ReloadError) { return try RulesFolder.read(path).encoded } catch {
      let lines = error.errors.map(\.description)
      throw ToolError(lines.joined(separator: "\n"), exit: .no)
    }
  }

  /// The member `rules` of a request: the rules themselves, or the name of an upload if they are long.
  static func send(_ rules: JSONValue, over client: Client) throws -> JSONValue {
    let text = Array(rules.text.utf8)
    guard text.count > partBytes else { return rules }
    var upload: JSONValue?
    var start = 0
    var most = partBytes
    while start < text.count {
      var end = min(start + most, text.count)
      while end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
      let part = JSONValue.string(String(decoding: text[start..<end], as: UTF8.self))
      do {
        upload = try client.call("upload", .members(["upload": upload, "text": part])).member("upload")
        start = end
      } catch let error as DaemonError where error.code == RequestError.Code.tooLarge.rawValue && most > 1024 {
        most /= 2  // limits.request_bytes is lower
      }
    }
    return .members(["upload": upload])
  }
}
