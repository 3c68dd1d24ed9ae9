internal import RuledCore
internal import RuledStore
internal import RuledThreads

/// A checkpoint of the daemon's store, on the daemon's host.
enum Checkpoint {
  /// Has the daemon make a checkpoint for `body` alone, and removes it afterwards; from then on the daemon goes first.
  static func use<Result>(
    _ client: Client, _ body: (_ path: String, _ time: Timestamp) throws -> Result
  ) throws -> Result {
    let answer = try client.call("backup", [:])
    guard let path = answer.member("checkpoint")?.stringValue,
      let time = answer.member("at")?.stringValue.flatMap({ Timestamp(rfc3339: $0) })
    else { throw ToolError("the daemon's answer names no checkpoint; use the rulectl of the same version") }
    Thread.Priority.lowest.apply()
    do {
      guard let use = try FolderUse(path, alone: false) else {
        throw ToolError("another backup uses the checkpoint \(path); try again")
      }
      defer { withExtendedLifetime(use) { _ = try? StoreCheckpoints.remove(path) } }
      return try body(path, time)
    } catch let error as StoreError {
      let isDenied = error.underlying == "Permission denied"
      throw ToolError(error.description + (isDenied ? "; run this as root or as the daemon's user" : ""))
    }
  }
}
