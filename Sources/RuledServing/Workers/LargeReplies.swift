/// The bytes of large replies to the requests of one bundle, by client: one read may bring thousands of requests, each with a reply of 1 MiB.
struct LargeReplies {
  /// The bytes of a reply from which on it counts.
  private static let least = 16 << 10

  private var bytes: [ReplyTarget.Client: Int] = [:]

  mutating func note(_ count: Int, _ target: ReplyTarget) {
    if count >= Self.least { bytes[target.client, default: 0] += count }
  }

  func areTooMany(for target: ReplyTarget) -> Bool {
    !bytes.isEmpty && bytes[target.client, default: 0] > RequestTurn.mostBytes
  }
}
