import RuledCore

/// Replies to requests that the owner has passed on: the owner sends them once the submission that they came with is durable.
///
/// It does not wait until the node has played the commit back, and the node need not send them afterwards.
final class SharedReplies: @unchecked Sendable {  // its maker's until it is sent or submitted, read-only from then on
  private let bytes = ByteBuffer()
  private var entries: [(number: UInt64, range: Range<Int>)] = []

  /// No replies.
  init() {}

  /// How many there are.
  var count: Int { entries.count }

  /// Adds the reply to the request with that number of the owner.
  func append(_ reply: ByteView, to number: UInt64) {
    let start = bytes.count
    bytes.append(reply)
    entries.append((number, start..<bytes.count))
  }

  /// The replies with their numbers; they point into the memory of this object.
  var all: [(number: UInt64, reply: ByteView)] { entries.map { ($0.number, bytes.bytes.extracting($0.range)) } }

  /// Appends them to a frame.
  func write(into buffer: ByteBuffer) {
    buffer.append(bigEndian: UInt32(entries.count))
    for (number, reply) in all { ShareFrame.writeReply(reply, to: number, into: buffer) }
  }

  /// Copies them out of a frame; nil if there are none.
  init?(reading reader: inout BytesReader) {
    guard let count = reader.word32() else { return nil }
    for _ in 0..<count {
      guard let number = reader.word(), let reply = reader.string() else { return nil }
      append(reply, to: number)
    }
  }
}
