import RuledCore

/// How much of a client's requests is executed before others have their turn.
enum RequestTurn {
  /// How long a client's turn may take, beyond one request.
  static let nanoseconds: UInt64 = 2_000_000
  /// How long a worker executes requests in a tick; what is left waits for its clients' turns.
  static let tickNanoseconds: UInt64 = 32_000_000
  /// How long a tick executes requests that waited.
  static let waitingNanoseconds: UInt64 = 8_000_000
  /// The requests after which a turn ends.
  static let requests = 64
  /// The bytes of replies after which a turn ends.
  static let bytes = 1 << 20
  /// The bytes of replies to one batch, or of large replies to the requests of one bundle, after which the client's other requests are refused.
  static let mostBytes = 32 << 20

  static let tooManyReplies = RequestError(
    .overloaded,
    "the requests that the client sent at once have more than \(mostBytes >> 20) MiB of replies; read these, and send the others again",
    retryAfter: 100)

  /// The number of requests in a turn, where so many earlier ones had so many bytes of replies: fewer if these were large.
  static func length(replies: Int, bytes: Int) -> Int {
    max(1, min(requests, Self.bytes * max(1, replies) / max(1, bytes)))
  }
}
