import RuledCore

/// One worker's durable replies that wait for the cascades of their events.
struct AwaitedReplies {
  typealias Reply = (target: ReplyTarget, bytes: [UInt8])

  /// The bytes of all connections together, as a multiple of one connection's.
  private static let connections = 64

  private var replies: [UInt64: Reply] = [:]
  private var bytes: [ReplyTarget.Client: Int] = [:]
  private var total = 0

  var isEmpty: Bool { replies.isEmpty }
  var keys: [UInt64] { Array(replies.keys) }

  /// Adds the reply that waits for the cascade with that key; false if it must not wait, because its connection, or all together, have too much.
  mutating func add(_ reply: Reply, for key: UInt64) -> Bool {
    let client = reply.target.client
    let waiting = (bytes[client] ?? 0) + reply.bytes.count
    guard waiting <= Limits.cascadeBytes, total + reply.bytes.count <= Self.connections * Limits.cascadeBytes else {
      return false
    }
    replies[key] = reply
    bytes[client] = waiting
    total += reply.bytes.count
    return true
  }

  mutating func remove(_ key: UInt64) -> Reply? {
    guard let reply = replies.removeValue(forKey: key) else { return nil }
    let client = reply.target.client
    let left = (bytes[client] ?? 0) - reply.bytes.count
    bytes[client] = left > 0 ? left : nil
    total -= reply.bytes.count
    return reply
  }
}
